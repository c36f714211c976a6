import type { EndpointRef, StoredHeaders, StoredSettings } from '../../ledger/endpoints/endpoint-row.js';
import { storableText } from '../../ledger/storable-text.js';
import { sealHeaders } from '../../publisher/endpoint-headers.js';
import type { NewSettings } from '../../publisher/endpoint-settings.js';
import type { Sealer } from '../../runtime/seal.js';

/** Settings as columns take them, the URL in the one spelling that its parser gives it. */
export function storedSettings({ headers: _sealed, url, description, ...settings }: NewSettings): StoredSettings {
  return { ...settings, url: new URL(url).href, description: storableText(description) };
}

/** Headers as columns take them. */
export function storedHeaders(
  sealer: Sealer,
  headers: Readonly<Record<string, string>>,
  { tenant, id }: EndpointRef,
): StoredHeaders {
  const sealed = sealHeaders(sealer, headers, { tenant, endpoint: id });
  return { names: Object.keys(headers), ...(sealed ? { sealed } : {}) };
}
