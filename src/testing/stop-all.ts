/** Ends something that was started. */
export type Stop = () => Promise<unknown>;

/**
 * Ends what was started, the last first, and goes on where one fails. Repeating it does nothing.
 *
 * @throws the first error, after the rest has been ended.
 */
export async function stopAll(stops: Stop[]): Promise<void> {
  const errors: unknown[] = [];
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
