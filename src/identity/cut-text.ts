const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/**
 * Text that is safe to put into a failure, a summary or a column: at most `limit` characters, and without lone
 * surrogates, which come with a payload or from cutting a pair in two. A failure message that holds one is written as
 * invalid UTF-8, which the worker's core cannot read, and so ends the worker.
 */
export function cutText(text: string, limit: number): string {
  return text.slice(0, limit).replace(loneSurrogate, '\uFFFD');
}
