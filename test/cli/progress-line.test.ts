import { expect, test } from 'vitest';
import { describePreview, progressInWords, summaryOf } from '../../src/cli/print-replay-many.js';
import { bar, progressOn } from '../../src/cli/progress-line.js';

const counts = { started: 0, nothing_to_do: 0, lost_race: 0, refused: 0, cancelled: 0, open: 0 };
const set = {
  tenant: '',
  id: 'night-1',
  filter: '{}',
  size: 4,
  state: 'open',
  frozenAt: new Date(0),
  by: 'bob',
  reason: 'r',
  refusals: [],
} as const;

/** What a stream was given. */
function streamOf(isTTY: boolean): NodeJS.WriteStream & { readonly written: string[] } {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) > 0 } as never;
}

test.each([
  [0, 4, '[····················]   0 %'],
  [1, 4, '[#####···············]  25 %'],
  [999, 1000, '[###################·]  99 %'],
  [4, 4, '[####################] 100 %'],
  [0, 0, '[####################] 100 %'],
])('a bar of %i of %i is full only at the end', (done, of, drawn) => {
  expect(bar(done, of)).toBe(drawn);
});

test('a terminal has one line that is written over and taken away, another stream no more than one every two seconds', () => {
  const terminal = streamOf(true);
  const line = progressOn(terminal);
  line.show('1 of 2');
  line.show('2 of 2');
  line.close();
  expect(terminal.written.join('')).toBe('\r1 of 2 \x1b[K\r2 of 2 \x1b[K\r\x1b[K');
  const file = streamOf(false);
  progressOn(file).show('1 of 2');
  expect(file.written).toEqual([]);
});

test('progress and summary name only what there is, and an unfinished set says how to go on', () => {
  expect(progressInWords({ size: 4, counts: { ...counts, started: 1, open: 3 } })).toBe(
    '[#####···············]  25 % of 4: 1 started, 3 left',
  );
  const refusals = [{ event: 'shop/evt_1\n', note: 'replay_refused: shop/evt_1 is being processed' }];
  expect(
    summaryOf({ ...set, outcome: 'stopped', refusals, counts: { ...counts, started: 1, refused: 2, open: 1 } }),
  ).toBe(
    '4 events: 1 started, 2 refused, 1 left (act night-1)\n' +
      '  shop/evt_1: replay_refused: shop/evt_1 is being processed\n  … and 1 more\n' +
      'Stopped; onefold replay --act night-1 goes on from here, onefold replay --act night-1 --cancel ends it.\n',
  );
  const because = { code: 'temporal_unavailable', message: 'no answer' };
  expect(summaryOf({ ...set, outcome: 'interrupted', because, counts: { ...counts, open: 4 } })).toBe(
    '4 events: 0 started, 4 left (act night-1)\n' +
      'It was interrupted (temporal_unavailable: no answer); onefold replay --act night-1 goes on from here.\n',
  );
  expect(summaryOf({ tenant: '', outcome: 'nothing_found' })).toBe('no such events: nothing to replay\n');
});

test('a look of many decisions says how many are not printed', () => {
  const text = describePreview({
    tenant: '',
    filter: '{}',
    outcome: 'dry_run',
    size: 3,
    events: [{ source: 'shop', type: 'order.paid', events: 3, oldest: new Date(0), newest: new Date(1000) }],
    oldest: new Date(0),
    newest: new Date(1000),
    effects: [{ effect: 'ship-order', left: 2, inDoubt: 1, done: 0 }],
    first: ['shop/1', 'shop/2', 'shop/3'],
    decisions: [{ event: 'shop/1', refused: 'replay_refused: it runs' }],
  });
  expect(text).toBe(
    '3 events, received from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.000Z:\n' +
      '  3 shop order.paid\n  ship-order: 2 to perform, 1 in doubt, 0 done\n' +
      '  shop/1: would be refused: replay_refused: it runs\n  … and 2 more: --json\n',
  );
});
