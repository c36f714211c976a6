/** The two endpoints of a proof: sources of the partner, each with a secret that signs nothing elsewhere. */
export const endpoints = [
  { source: 'first', types: ['*'], secret: 'whsec_b25lZm9sZC1wcm9vZi1zZWNyZXQta2V5LTAwMDI=' },
  { source: 'second', types: ['order.shipped'], secret: 'whsec_b25lZm9sZC1wcm9vZi1zZWNyZXQta2V5LTAwMDM=' },
] as const;

/** Types that are published; the second endpoint takes only one of them. */
export const publishedTypes = ['order.shipped', 'order.noted'] as const;

export type PublishedType = (typeof publishedTypes)[number];

/** Sources of those endpoints that a type goes to. */
export function sourcesOf(type: PublishedType): readonly string[] {
  return type === 'order.shipped' ? ['first', 'second'] : ['first'];
}

/** Task queues of the two applications, which know nothing of each other. */
export const publisherQueue = 'proof-publisher';
export const partnerQueue = 'proof-partner';
