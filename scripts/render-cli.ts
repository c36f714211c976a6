import type { Command } from 'commander';
import { createProgram, exitCodes } from '../src/cli/program.js';

/** Renders the reference of the executable from its own commands. */
export function renderCli(note: string): string {
  const program = createProgram('');
  const groups = new Map<string, Command[]>();
  for (const command of program.commands) {
    const heading = command.helpGroup().replace(/:$/, '');
    groups.set(heading, [...(groups.get(heading) ?? []), command]);
  }
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  const parts = [...groups].map(
    ([heading, commands]) => `## ${heading}\n\n${commands.map((command) => renderCommand(command, [])).join('\n')}`,
  );
  return `# The executable

${note}

\`npx onefold <command> --help\` says the same. Temporal is found by \`TEMPORAL_ADDRESS\`, \`TEMPORAL_NAMESPACE\` and the other
\`TEMPORAL_*\` variables and profiles, PostgreSQL by \`DATABASE_URL\`; see [configuration](configuration.md).

Answers go to standard output, questions, progress and log lines to standard error. With \`--json\` the answer is JSON whose
fields are only ever added to. A command that acts shows what it would do and asks; scripts give \`--yes --reason\`. Every act is
recorded with who, when and why: \`--by\` (the user of the process by default), \`--reason\`, and \`--act\`, an identity of the
wish, under which repeating a command is harmless.

| exit code | meaning |
|---|---|
${codes.join('\n')}

${parts.join('\n')}`;
}

function renderCommand(command: Command, above: readonly string[]): string {
  const name = [...above, command.name()];
  const subcommands = command.commands.filter((one) => one.name() !== 'help');
  const usage = subcommands.length > 0 ? '<command>' : command.usage();
  const rows = [
    ...command.registeredArguments.map((one) => [
      one.required ? `<${one.name()}>` : `[${one.name()}]`,
      one.description,
    ]),
    ...command.options.map((one) => [one.flags, one.description + defaultOf(one.defaultValue)]),
  ].map(([flags, meaning]) => `| \`${flags}\` | ${cell(meaning ?? '')} |`);
  const table = rows.length > 0 ? `\n| | |\n|---|---|\n${rows.join('\n')}\n` : '';
  const nested = subcommands.map((one) => `\n${renderCommand(one, name)}`);
  return `${'#'.repeat(3 + above.length)} onefold ${name.join(' ')}

\`onefold ${name.join(' ')} ${usage}\`

${cell(command.description())}
${table}${nested.join('')}`;
}

function defaultOf(value: unknown): string {
  return value === undefined || typeof value === 'boolean' ? '' : ` (default ${String(value)})`;
}

/** Text of a help, which no Markdown may read as its own outside of its code. */
function cell(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) =>
      part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('*', '\\*'),
    )
    .join('')
    .replaceAll('|', '\\|');
}
