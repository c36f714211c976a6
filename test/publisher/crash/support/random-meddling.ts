import type { Random } from '../../../prove/random.js';
import type { Meddling } from './meddling-proxy.js';

/** How a bad network treats one request: half of them arrive as they should. */
export function randomMeddling(random: Random): Meddling & { readonly name: string } {
  const draw = random.next();
  if (draw < 0.5) return { name: 'passed', copiesAfterMs: [0], answer: 'passed' };
  if (draw < 0.6) return { name: 'answer lost', copiesAfterMs: [0], answer: 'lost' };
  if (draw < 0.8) {
    return {
      name: 'repeated',
      copiesAfterMs: [0, random.whole(0, 200), random.whole(0, 3000)],
      answer: random.pick(['passed', 'lost']),
    };
  }
  if (draw < 0.9) return { name: 'overtaken', copiesAfterMs: [random.whole(200, 1200)], answer: 'passed' };
  return { name: 'arrived after the sender gave up', copiesAfterMs: [random.whole(500, 4000)], answer: 'none' };
}
