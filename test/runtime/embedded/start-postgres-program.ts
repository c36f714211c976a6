// A process that starts PostgreSQL and makes a table `kept` in it. `<folder> stay` says the server's id and waits to be
// killed; `<folder> as-ordinary-user` does it all without root's rights and says whose the data are.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { postgresBinaries } from '../../../src/runtime/embedded/postgres-binaries.js';
import { startPostgresServer } from '../../../src/runtime/embedded/postgres-server.js';

const [folder = '', wish = '', uid = ''] = process.argv.slice(2);
const binaries = await postgresBinaries(() => {});
if (uid !== '') {
  // Only now: the project may lie where the other user cannot read the modules.
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}
const server = await startPostgresServer({ binaries, folder, port: 0, progress: () => {} });
const client = new pg.Client({ connectionString: server.url });
await client.connect();
await client.query('CREATE TABLE kept AS SELECT 42 AS answer');
const { rows } = await client.query<{ answer: number }>('SELECT answer FROM kept');
await client.end();
if (wish === 'stay') {
  process.stdout.write(JSON.stringify({ pid: server.pid }));
  setInterval(() => {}, 1000);
} else {
  const owner = await stat(join(folder, 'postgres'));
  const ownsData = owner.uid === process.getuid?.() && owner.uid !== 0;
  await server.stop();
  process.stdout.write(JSON.stringify({ answer: rows[0]?.answer, ownsData }));
}
