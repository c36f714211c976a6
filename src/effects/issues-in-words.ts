import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Names at most this many of a schema's complaints; the first usually says it all. */
const issueLimit = 5;

/** As libraries name the kinds of their complaints; anything else might hold what came. */
const codeForm = /^[a-z][a-z0-9_.-]{0,40}$/i;

/**
 * Says where data do not match their schema: each path, with the code of the complaint where the library has one. Never its
 * message, since libraries quote in it what came.
 */
export function issuesInWords(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .slice(0, issueLimit)
    .map((issue) => {
      const at = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      const { code } = issue as { readonly code?: unknown };
      const kind = typeof code === 'string' && codeForm.test(code) ? ` (${code})` : '';
      return `${at === '' ? 'the whole' : at}${kind}`;
    })
    .join('; ');
}
