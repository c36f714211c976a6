import { expect, test } from 'vitest';
import { perEvent } from '../../src/effects/declare-effect.js';
import type { Effect } from '../../src/effects/effect.js';
import { matchEffects } from '../../src/receiver/match-effects.js';
import type { Source } from '../../src/sources/define-source.js';
import type { Identified } from '../../src/sources/source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { secret } from './support/sources.js';

const source = standardWebhooks('repo', {
  secrets: secret,
  events: { issues: types<unknown>(), 'issues.opened': types<unknown>(), push: types<unknown>() },
});
const on = (name: string, type: 'issues' | 'issues.opened' | 'push'): Effect =>
  source.effect(name, { on: type, businessKey: perEvent, commit: async () => null });
const event = (type: string, action?: string) =>
  ({ ok: true, type, ...(action ? { action } : {}) }) as unknown as Identified;
const match = (effects: Effect[], identified: Identified) => matchEffects(source as Source, effects, identified);

test('the finer type wins', () => {
  const effects = [on('coarse', 'issues'), on('fine', 'issues.opened')];
  expect(match(effects, event('issues', 'opened'))).toEqual({ type: 'issues.opened', effects: ['fine'] });
  expect(match(effects, event('issues', 'closed'))).toEqual({ type: 'issues', effects: ['coarse'] });
});

test('a finer type that nobody subscribes to does not hide the coarser one', () => {
  const effects = [on('coarse', 'issues')];
  expect(match(effects, event('issues', 'opened'))).toEqual({ type: 'issues', effects: ['coarse'] });
});

test('every effect of the type is named, in the order of the configuration', () => {
  const effects = [on('b', 'push'), on('a', 'push')];
  expect(match(effects, event('push')).effects).toEqual(['b', 'a']);
});

test.each(['constructor', '__proto__', 'ping', ''])('the type %j is ignored', (type) => {
  expect(match([on('a', 'push')], event(type))).toEqual({ type, effects: [] });
});
