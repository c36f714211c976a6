/** What happened in a run, in the words of Onefold. */
export interface RunStep {
  readonly at: Date;
  readonly what:
    | 'run_started'
    | 'plan'
    | 'attempt'
    | 'book_keeping'
    | 'pause'
    | 'signal'
    | 'update'
    | 'cancel_requested'
    | 'reset'
    | 'run_ended';
  readonly text: string;
  readonly effect?: string;
  readonly attempt?: number;
  readonly code?: string;
  /** Of an attempt that ended well. */
  readonly outcome?: string;
  readonly fence?: number;
  readonly otherData?: boolean;
}

/** One run of an event or of a delivery, as its history tells it. */
export interface TracedRun {
  readonly runId: string;
  readonly startedAt: Date;
  readonly endedAt?: Date;
  /** As Temporal calls it, in lower case: running, completed, failed, … */
  readonly status: string;
  /** ISO 8601: of the delivery that the event's first run began with. */
  readonly receivedAt?: string;
  readonly replay?: { readonly id: string; readonly by: string; readonly reason: string };
  /** The run that it was reset from. */
  readonly resetFrom?: string;
  readonly continuedFrom?: string;
  /** The effects' plan was made, or carried over, in it. */
  readonly planned: boolean;
  readonly steps: readonly RunStep[];
  /** The history is longer than what was read of it. */
  readonly cut: boolean;
}
