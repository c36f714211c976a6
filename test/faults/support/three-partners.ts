import type { Partners } from './carried-event.js';
import { startPartner } from './partner.js';

/** A partner for each recovery, of which only the one that is handed a key dedupes on it. */
export async function startPartners(): Promise<Partners & { close(): Promise<void> }> {
  const forwardsKey = await startPartner({ remembers: true });
  const reconcile = await startPartner({ remembers: false });
  const park = await startPartner({ remembers: false });
  return {
    forwardsKey,
    reconcile,
    park,
    close: async () => {
      for (const partner of [forwardsKey, reconcile, park]) await partner.close();
    },
  };
}
