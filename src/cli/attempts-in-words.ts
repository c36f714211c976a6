/** A number of attempts, as people write it. */
export function attemptsInWords(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
