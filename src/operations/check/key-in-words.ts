import type { Effect } from '../../effects/effect.js';

/** More of a function than this is read better where it stands. */
const longestKeyText = 120;

/** What a business key is made of: the function as it is written, on one line and not without end. */
export function keyInWords({ businessKey }: Pick<Effect, 'businessKey'>): string {
  if (businessKey.name === 'perEvent') return 'perEvent (source/event-id)';
  const text = Function.prototype.toString.call(businessKey).replace(/\s+/g, ' ');
  if (text.includes('[native code]')) return `${businessKey.name || 'a bound function'}(event)`;
  return text.length <= longestKeyText ? text : `${text.slice(0, longestKeyText - 1)}…`;
}
