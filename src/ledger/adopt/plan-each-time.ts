import type { Sql } from '../database.js';

/**
 * Has each statement of the transaction planned for the tables as they are now, and not compiled. A plan that was kept from when
 * they were empty reads all of them for each batch of an adoption that fills them; and what costs much by the planner's guess is
 * over before it would be compiled.
 */
export async function planEachTime(sql: Sql): Promise<void> {
  await sql("SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)", []);
}
