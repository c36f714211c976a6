/** What may hold a semicolon or a keyword without meaning one: strings of every kind, quoted names, comments. */
const opaque =
  /\be'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi;

/** Begins a statement that ends the transaction, or tries to begin one in it. `ROLLBACK TO` a savepoint does neither. */
const verdict =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i;

/**
 * Whether SQL text would end the transaction it runs in. A guard against mistakes, not against intent: what slips past it
 * is found at the completion, when the write is committed already.
 */
export function endsTransaction(text: string): boolean {
  return text
    .replace(opaque, ' ')
    .split(';')
    .some((statement) => verdict.test(statement));
}
