import type { Sql } from '../database.js';
import type { SchemaName } from '../schema-name.js';
import { storableText } from '../storable-text.js';

/**
 * Writes down who looks after a dead letter, and what they found; what is undefined stays, and '' takes it away.
 *
 * @returns False where there is no such letter.
 */
export async function noteDeadLetter(
  sql: Sql,
  schema: SchemaName,
  letter: {
    readonly tenant: string;
    readonly id: string;
    readonly owner: string | undefined;
    readonly note: string | undefined;
  },
): Promise<boolean> {
  const { rowCount } = await sql(
    `UPDATE ${schema}.dead_letters SET owner = nullif(coalesce($3, owner), ''), note = nullif(coalesce($4, note), '')
     WHERE tenant = $1 AND id = $2`,
    [letter.tenant, letter.id, text(letter.owner), text(letter.note)],
  );
  return rowCount === 1;
}

function text(value: string | undefined): string | null {
  return value === undefined ? null : storableText(value);
}
