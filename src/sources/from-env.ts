import { OnefoldError } from '../errors.js';

/** Secrets that stand in an environment variable; made by {@link fromEnv}. */
export interface EnvSecrets {
  /** The name of the variable. */
  readonly variable: string;
}

/**
 * Refers to the secrets in an environment variable: one, or several separated by commas or white space, so that a
 * rotation is one edit. The variable is read when a source first needs it, not when the configuration is loaded, so that
 * `onefold check` and the tests load a configuration without its secrets.
 *
 * A secret that itself holds a comma or white space cannot be given this way: pass it as text.
 *
 * @throws {OnefoldError} `config_invalid` for a blank name. A variable that is absent or empty is `config_missing`, and
 *   thrown by the source that needs it.
 */
export function fromEnv(variable: string): EnvSecrets {
  if (typeof variable !== 'string' || variable.trim() === '') {
    throw new OnefoldError(
      'config_invalid',
      "fromEnv: expected the name of an environment variable, such as 'SHOP_WEBHOOK_SECRETS'",
    );
  }
  return Object.freeze({ variable });
}
