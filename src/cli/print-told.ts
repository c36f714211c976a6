import type { ToldOpenEvents } from '../operations/tell-open-events.js';

/** How many events were told to try now, and what is to be done about the others. */
export function toldInWords({ told, gone, interrupted }: ToldOpenEvents, act: string): string {
  const lost = gone === 0 ? '' : `, ${gone} more have no workflow any more: replay them, or let them be redelivered`;
  const rest = interrupted
    ? `  It was interrupted (${interrupted.code}: ${interrupted.message}). Who was not told looks by itself; the same command with --act ${act} tells them now.\n`
    : '';
  return `  told ${told === 1 ? '1 event' : `${told} events`}${lost}\n${rest}`;
}
