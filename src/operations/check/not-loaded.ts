import type { OnefoldError } from '../../errors.js';
import type { CheckReport } from './check-configuration.js';
import { finding } from './finding.js';

/**
 * The report on a configuration that refuses to be loaded, as most mistakes make it: an effect without a recovery, a lease
 * that could run out under a living attempt. Nothing else of it could be looked at.
 */
export function notLoaded({ code, message }: OnefoldError): CheckReport {
  const id = code === 'config_missing' ? code : 'config_invalid';
  return {
    version: 1,
    ok: false,
    sources: [],
    effects: [],
    publications: null,
    namespace: null,
    ledger: null,
    leftOut: ['all of the configuration', 'all of the servers'],
    findings: [finding(id, { place: 'configuration', message, remedy: 'mend the place that is named' })],
    problems: 1,
    warnings: 0,
    notes: 0,
  };
}
