import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A certificate with its key, as `tls.createServer` takes them. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly name: string;
  readonly privateKey: KeyObject;
}

/**
 * Makes an X.509 certificate, signed by itself or by another one, so that tests need no files and no tools for it.
 *
 * @param options.host The DNS name it is for.
 * @param options.notAfter Its last moment; it began to hold in 2020.
 */
export function makeCertificate(options: {
  readonly host: string;
  readonly notAfter?: Date;
  readonly issuer?: Certificate;
}): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = `test ${options.host}`;
  const issuer = options.issuer ?? { name, privateKey };
  const body = sequence(
    der(0xa0, Buffer.from([2, 1, 2])),
    Buffer.from([2, 1, 7]),
    ecdsaWithSha256,
    distinguishedName(issuer.name),
    sequence(utcTime(new Date('2020-01-01')), utcTime(options.notAfter ?? new Date('2049-01-01'))),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternativeName(options.host), mayIssue)),
  );
  const signature = sign('sha256', body, issuer.privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const lengthBytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
const mayIssue = sequence(objectId('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff])))));

function alternativeName(host: string): Buffer {
  return sequence(objectId('551d11'), der(0x04, sequence(der(0x82, Buffer.from(host)))));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))));
}

function utcTime(at: Date): Buffer {
  return der(0x17, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
}
