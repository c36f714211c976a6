/**
 * Joins the conditions whose value was given, each `?` of them as a parameter. A statement so holds only what restricts
 * it: where every filter stood in it with `IS NULL OR`, a prepared plan could use the index of none.
 *
 * @param asked SQL to its value, or to a list with one value for each `?`; undefined where it is not asked for.
 * @returns The conditions joined by AND, and the values of `$1` and on.
 */
export function conditions(asked: Readonly<Record<string, unknown>>): {
  readonly where: string;
  readonly values: readonly unknown[];
} {
  const values: unknown[] = [];
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const where = given.map(([sql, value]) => {
    const rest = Array.isArray(value) ? [...value] : [value];
    return sql.replaceAll('?', () => `$${values.push(rest.shift())}`);
  });
  return { where: where.join(' AND '), values };
}
