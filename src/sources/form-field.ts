/**
 * Reads one field of a form-encoded body (`application/x-www-form-urlencoded`), strictly: the field stands once, its
 * escapes are whole, and they spell UTF-8. `URLSearchParams` would put replacement characters for what it cannot read.
 *
 * @param name A name that needs no escapes.
 * @returns undefined where any of this does not hold.
 */
export function formField(body: Uint8Array, name: string): string | undefined {
  const fields = Buffer.from(body).toString('latin1').split('&');
  const [field, ...others] = fields.filter((candidate) => candidate.startsWith(`${name}=`));
  if (field === undefined || others.length > 0) return undefined;
  // Written as Latin-1, a raw byte beyond ASCII would pass as the character of its number.
  if (/[^\0-\x7f]/.test(field)) return undefined;
  try {
    return decodeURIComponent(field.slice(name.length + 1).replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
