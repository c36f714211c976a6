/** A secret, the one time that it is shown. */
export function secretInWords(secret: string): string {
  return `Its signing secret, for the receiver. It is shown this once; whoever has it can sign as you:\n${secret}\n`;
}

/** Says where the host of a URL is not known yet, on standard error, since it is no part of the answer. */
export function tellUnresolved({ resolved }: { readonly resolved: boolean }): void {
  if (resolved) return;
  process.stderr.write('the host of the URL has no address yet; every attempt looks again\n');
}
