import { OnefoldError } from '../errors.js';
import { encodeSegment } from './encode-segment.js';

/** The most bytes of a tenant's segment, so that the hashed form fits beside the longest source name. */
export const tenantSegmentLimitBytes = 60;

/**
 * Judges a tenant, wherever it comes from. '' stands for none.
 *
 * @throws {OnefoldError} `identity_invalid` for anything but text, for blanks alone, for NUL, and beyond 60 bytes when
 * percent-encoded.
 */
export function checkTenant(tenant: unknown): string {
  if (typeof tenant !== 'string') {
    throw new OnefoldError('identity_invalid', `a tenant is text, got ${tenant === null ? 'null' : typeof tenant}`);
  }
  if (tenant === '') return tenant;
  if (tenant.trim() === '') throw new OnefoldError('identity_invalid', "a tenant is not blank; '' stands for none");
  // NUL could be percent-encoded into the key, but no text column of PostgreSQL holds it.
  if (tenant.includes('\0')) throw new OnefoldError('identity_invalid', 'a tenant holds no NUL');
  const { length } = encodeSegment(tenant);
  if (length > tenantSegmentLimitBytes) {
    throw new OnefoldError(
      'identity_invalid',
      `a tenant has at most ${tenantSegmentLimitBytes} bytes when percent-encoded, got ${length}`,
    );
  }
  return tenant;
}
