// Stands for `onefold run`: loads the configuration, serves what it says, reports ready, drains on SIGTERM.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const { answer, ignoresSigterm } = await import(pathToFileURL(process.argv[2]).href);
const server = createServer((_, response) => response.end(JSON.stringify({ answer, pid: process.pid })));
server.listen(Number(process.env.ONEFOLD_PORT), process.env.ONEFOLD_HOST, () => {
  const receiver = `http://${process.env.ONEFOLD_HOST}:${process.env.ONEFOLD_PORT}/webhooks`;
  process.send({ type: 'ready', receiver, sources: [{ name: 'shop', url: `${receiver}/shop` }] });
});
process.on('SIGTERM', () => {
  if (ignoresSigterm) return;
  console.log('app drained');
  process.exit(0);
});
