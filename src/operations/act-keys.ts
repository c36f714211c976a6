import { encodeSegment } from '../identity/encode-segment.js';

/** What acts about an endpoint stand under: `endpoint/<tenant>/<id>`. */
export function endpointActKey(tenant: string, endpoint: string): string {
  return `endpoint/${encodeSegment(tenant)}/${encodeSegment(endpoint)}`;
}

/** What acts about a publication stand under, whatever its endpoints: a delivery's key without the endpoint. */
export function publicationActKey(tenant: string, publication: string): string {
  return `publication/${encodeSegment(tenant)}/${encodeSegment(publication)}`;
}
