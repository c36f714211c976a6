import { type EgressRules, tenantRules } from '../../runtime/egress-rules.js';
import { createEgressClient, type EgressClient, type EgressClientOptions } from './egress-client.js';

/** The ways out of a process that sends for many tenants. */
export interface TenantEgress {
  /** @param tenant '' for what belongs to none. */
  of(tenant: string): EgressClient;
  /** Closes all of them, as {@link EgressClient.close} does. */
  close(): Promise<void>;
}

/**
 * Makes clients by the rules that hold for each tenant. Those under different rules share no connection: one that was
 * judged for the operator may lead to where no tenant is let.
 */
export function createTenantEgress(rules: EgressRules, options: EgressClientOptions = {}): TenantEgress {
  const clients = new Map<EgressRules, EgressClient>();
  return {
    of(tenant) {
      const own = tenantRules(rules, tenant);
      const client = clients.get(own) ?? createEgressClient(own, options);
      clients.set(own, client);
      return client;
    },
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
