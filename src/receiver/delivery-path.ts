/** The named path of a delivery: what it was to its event. See docs/answers.md. */
export type DeliveryPath = 'first_run' | 'retry_after_failure' | 'duplicate_done' | 'in_progress_elsewhere' | 'ignored';
