/** Far more than any client nests. What is longer is not read to its end, and so proves nothing. */
const longestChain = 16;

/**
 * An error and its causes, the outermost first. A cause that is no object, or is met again, ends the chain.
 *
 * @returns Undefined where the chain is too long to be read to its end.
 */
export function errorChain(thrown: unknown): readonly object[] | undefined {
  const chain: object[] = [];
  for (
    let error = thrown;
    typeof error === 'object' && error !== null && !chain.includes(error);
    error = (error as { cause?: unknown }).cause
  ) {
    if (chain.length === longestChain) return undefined;
    chain.push(error);
  }
  return chain;
}
