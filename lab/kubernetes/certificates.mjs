// A private authority and certificates of it, made with OpenSSL; they are gone with the cluster.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../scripts/lib/process.mjs';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];

/** @param folder where it is made. @returns `ca`, and `issue(name, hosts)` for a key and a certificate; all PEM */
export async function authority(folder, signal) {
  mkdirSync(folder);
  const openssl = (...args) => run('openssl', args, { cwd: folder, capture: true, signal });
  await openssl('req', '-x509', ...KEY, ...DAYS, '-subj', '/CN=private', '-keyout', 'ca.key', '-out', 'ca.crt');
  const read = (name) => readFileSync(join(folder, name), 'utf8');
  return {
    ca: read('ca.crt'),
    async issue(name, hosts) {
      const alternative = `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(',')}`;
      writeFileSync(join(folder, `${name}.ext`), `${alternative}\n`);
      await openssl('req', '-new', ...KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
      const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`];
      await openssl('x509', '-req', '-in', `${name}.csr`, ...by, ...DAYS, '-out', `${name}.crt`);
      return { key: read(`${name}.key`), certificate: read(`${name}.crt`) };
    },
  };
}
