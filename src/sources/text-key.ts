import type { KeyReader } from './secrets.js';

/** Reads a secret whose UTF-8 text is the key, as GitHub, Stripe and Shopify use it. */
export const textKey: KeyReader<Buffer> = (secret) => Buffer.from(secret, 'utf8');
