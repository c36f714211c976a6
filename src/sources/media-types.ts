/** `application/json`, its older spelling, and everything built on JSON, such as `application/cloudevents+json`. */
export function isJsonType(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType === 'text/json' || /^[^/]+\/[^/]+\+json$/.test(mediaType);
}

/**
 * What a source that verifies its requests reads as JSON. The signature, not the label, says whom the bytes are from,
 * and HTTP clients label JSON as plain text, or not at all, unless told otherwise.
 */
export function isJsonOrUnlabelled(mediaType: string): boolean {
  return isJsonType(mediaType) || mediaType === '' || mediaType === 'text/plain';
}
