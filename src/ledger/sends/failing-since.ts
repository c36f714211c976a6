/** Since when an endpoint fails, or null. What its owner paused or enabled meanwhile begins anew. */
export function failingSince(endpoint: string): string {
  return `CASE WHEN ${endpoint}.failing_since IS NOT NULL THEN greatest(${endpoint}.failing_since, ${endpoint}.state_at) END`;
}
