import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Key and certificate in one PEM, as Node's TLS takes them. */
export interface Certificates {
  readonly expired: string;
  readonly otherName: string;
  readonly selfSigned: string;
  readonly good: string;
  /** A file of all that a relay is to trust: every one of them but the self-signed. For `NODE_EXTRA_CA_CERTS`. */
  readonly trusted: string;
  discard(): void;
}

/** Makes certificates for 127.0.0.1 with OpenSSL. Each is its own authority, so that trusting one says nothing of the others. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'relay-certificates-'));
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const make = (name: string, alternative: string, days: string): string => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
    openssl(
      'req',
      '-new',
      ...key,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
      '-addext',
      `subjectAltName=${alternative}`,
    );
    const signed = ['-signkey', `${name}.key`, '-days', days, '-copy_extensions', 'copyall', '-out', `${name}.crt`];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signed);
    return [`${name}.key`, `${name}.crt`].map((file) => readFileSync(join(folder, file), 'utf8')).join('');
  };
  const made = {
    expired: make('expired', 'IP:127.0.0.1', '-1'),
    otherName: make('other-name', 'DNS:hooks.example.com', '1'),
    selfSigned: make('self-signed', 'IP:127.0.0.1', '1'),
    good: make('good', 'IP:127.0.0.1', '1'),
  };
  const trusted = join(folder, 'trusted.pem');
  execFileSync('sh', ['-c', 'cat expired.crt other-name.crt good.crt > trusted.pem'], { cwd: folder });
  return { ...made, trusted, discard: () => rmSync(folder, { recursive: true, force: true }) };
}
