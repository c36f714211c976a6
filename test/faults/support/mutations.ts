/** One rule taken out of the source, and the tests that must notice. */
export interface Mutation {
  readonly what: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Test files, of which one at least must fail. */
  readonly caughtBy: readonly string[];
}

const attempt = 'src/effects/carry-external-attempt.ts';
const call = 'src/effects/call-recipient.ts';
const recover = 'src/effects/recover-attempt.ts';
const claim = 'src/ledger/claim-external.ts';
const killed = 'test/faults/worker-killed.live.test.ts';
const frozen = 'test/faults/worker-frozen.live.test.ts';
const misbehaves = 'test/faults/partner-misbehaves.live.test.ts';
const zombie = 'test/faults/zombie.live.test.ts';

/** Rules without which an effect would be done twice, or without anybody knowing. */
export const mutations: readonly Mutation[] = [
  {
    what: 'the completion does not check owner and fence',
    file: 'src/ledger/complete-effect.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the source
    find: "WHERE ${stillHeld('c')}",
    replace:
      "WHERE c.tenant = $1 AND c.business_key = $2 AND c.state = 'claimed' AND c.effect = ANY($4::text[]) AND ($3::uuid IS NULL OR $5::bigint[] IS NOT NULL)",
    caughtBy: [zombie],
  },
  {
    what: 'what is unknown is performed instead of recovered',
    file: attempt,
    find: "if (claim.path === 'claimed') return callRecipient(run, held, event);",
    replace: "if (claim.path !== 'performed') return callRecipient(run, held, event);",
    caughtBy: [killed],
  },
  {
    what: 'a completed row is taken again',
    file: claim,
    find: "WHERE c.state = 'released'\n",
    replace: "WHERE c.state IN ('released', 'done')\n",
    caughtBy: [killed],
  },
  {
    what: 'any error releases the claim',
    file: call,
    find: 'if (provesNothingDone(thrown, effect.provesNothingDone)) {',
    replace: 'if (true) {',
    caughtBy: [misbehaves],
  },
  {
    what: 'absent is believed at once',
    file: recover,
    find: 'if (unsettledMs <= 0) return',
    replace: 'if (true) return',
    caughtBy: [misbehaves],
  },
  {
    what: 'the deadline is not looked at before the call',
    file: call,
    find: '  if (stop !== undefined) return giveBackHeld(run, held, stop);\n',
    replace: '',
    caughtBy: [zombie],
  },
  {
    what: 'the fence is not looked at before the call',
    file: call,
    find: 'const confirmedAt = await confirmHeld(run, held);',
    replace: 'const confirmedAt: number | undefined = held.confirmedAt;',
    caughtBy: [frozen],
  },
  {
    what: 'a claim counts as fresh from its answer on',
    file: attempt,
    find: '  const confirmedAt = Date.now();\n  const claim = await claimForAttempt(run);\n',
    replace: '  const claim = await claimForAttempt(run);\n  const confirmedAt = Date.now();\n',
    caughtBy: [zombie],
  },
  {
    what: 'an attempt that vanished gives up its key',
    file: claim,
    find: "CASE WHEN c.state = 'released' THEN $9 || '-' || c.generation ELSE c.idempotency_key END",
    replace: "$9 || '-' || (c.fence + 1)",
    caughtBy: [killed],
  },
];
