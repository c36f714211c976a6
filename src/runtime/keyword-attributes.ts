import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { indexedText } from './indexed-text.js';

/**
 * Makes the keyword search attributes of a start, as an index takes them.
 *
 * @param isRegistered Whether the namespace has an attribute; no other may be named.
 */
export function keywordAttributes(
  values: readonly (readonly [name: string, value: string])[],
  isRegistered: (name: string) => boolean,
): SearchAttributePair[] {
  return values
    .filter(([name]) => isRegistered(name))
    .map(([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value: indexedText(value) }));
}
