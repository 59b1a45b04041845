import * as fc from 'fast-check';
import { egressPolicy } from './address.js';
import { checkDestination } from './destination.js';
import { FORBIDDEN_HOSTS } from '@relay/testing';

const closed = { ports: ['443', '8443'], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const production = egressPolicy(closed);
const development = egressPolicy({ ...closed, allowHttp: true, allowCidrs: ['127.0.0.0/8'] });

const detail = (url: string, policy = production): string => {
  const check = checkDestination(url, policy);
  return check.ok ? 'ok' : check.detail;
};

const ADDRESS = 'The URL must lead to a public address.';
const PORT = 'The port must be one of 443, 8443.';
const LOCAL = 'The host name must be a public one, such as hooks.example.com.';
const NAME =
  'The host name must have labels of 1 to 63 letters, digits, hyphens or underscores, and at most 253 characters.';
const INVALID = 'The URL must be absolute and valid, such as https://example.com/webhooks.';

describe('checkDestination', () => {
  it.each(FORBIDDEN_HOSTS)('refuses the address https://%s/', (host) => {
    expect(detail(`https://${host}/hook`)).toBe(ADDRESS);
    expect(detail(`https://${host}:8443`)).toBe(ADDRESS);
  });

  it.each([
    ['', INVALID],
    ['example.com', INVALID],
    ['/hook', INVALID],
    ['https://', INVALID],
    ['https://exa mple.com/', INVALID],
    ['https://1.2.3.4.5/', INVALID],
    ['https://0x100000000/', INVALID],
    ['https://[fe80::1%25eth0]/', INVALID],
    ['https://example.com:99999/', INVALID],
    ['http://example.com/', 'The URL must begin with https://.'],
    ['ftp://example.com/', 'The URL must begin with https://.'],
    ['file:///etc/passwd', 'The URL must begin with https://.'],
    ['https://user@example.com/', 'The URL must not contain a user name or password.'],
    ['https://:pass@example.com/', 'The URL must not contain a user name or password.'],
    ['https://example.com/#part', 'The URL must not contain a fragment.'],
    ['https://example.com/#', 'The URL must not contain a fragment.'],
    ['https://example.com:80/', PORT],
    ['https://example.com:22/', PORT],
    ['https://1.1.1.1:6379/', PORT],
    ['https://localhost/', LOCAL],
    ['https://LOCALHOST:8443/', LOCAL],
    ['https://localhost./', 'The host name must not end with a dot.'],
    ['https://example.com./', 'The host name must not end with a dot.'],
    ['https://foo.localhost/', LOCAL],
    ['https://printer.local/', LOCAL],
    ['https://ip-10-0-0-1.ec2.internal/', LOCAL],
    ['https://metadata.google.internal/', LOCAL],
    ['https://redis.relay.svc/', LOCAL],
    ['https://redis.relay.svc.cluster.local/', LOCAL],
    ['https://router.home.arpa/', LOCAL],
    ['https://localhost.localdomain/', LOCAL],
    ['https://ip6-localhost/', 'The host name must be fully qualified, such as hooks.example.com.'],
    ['https://nas.lan/', LOCAL],
    ['https://erp.corp/', LOCAL],
    ['https://wiki.intranet/', LOCAL],
    ['https://router.home/', LOCAL],
    ['https://vault.private/', LOCAL],
    ['https://kubernetes.default.svc/', LOCAL],
    ['https://Redis.Relay.SVC/', LOCAL],
    ['https://metadata.google.internal./', 'The host name must not end with a dot.'],
    ['https://xyz.onion/', LOCAL],
    ['https://ｌｏｃａｌｈｏｓｔ/', LOCAL],
    ['https://a..b.com/', NAME],
    ['https://.example.com/', NAME],
    ['https://a。。b.com/', NAME],
    ['https://example.com..', 'The host name must not end with a dot.'],
    [`https://${'a'.repeat(64)}.example.com/`, NAME],
    [`https://${'a.'.repeat(122)}example.com/`, NAME],
    ['https://*.example.com/', NAME],
    ['https://a!b.example.com/', NAME],
    ['https://{id}.example.com/', NAME],
    ['https://redis/', 'The host name must be fully qualified, such as hooks.example.com.'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'The URL must be at most 2,048 characters long.'],
    [`https://example.com/${'ä'.repeat(700)}`, 'The URL must be at most 2,048 characters long.'],
  ])('refuses %s', (url, expected) => {
    expect(detail(url)).toBe(expected);
  });

  it.each([
    ['https://example.com', 'https://example.com/', 'https://example.com'],
    ['HTTPS://Example.COM:443/A?b=c', 'https://example.com/A?b=c', 'https://example.com'],
    ['https://example.com:8443/x', 'https://example.com:8443/x', 'https://example.com:8443'],
    ['https:\\\\example.com\\a', 'https://example.com/a', 'https://example.com'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example'],
    ['https://16843009/', 'https://1.1.1.1/', 'https://1.1.1.1'],
    ['https://[2606:4700:0::1111]/', 'https://[2606:4700::1111]/', 'https://[2606:4700::1111]'],
    [`https://${'a'.repeat(63)}.com/`, `https://${'a'.repeat(63)}.com/`, `https://${'a'.repeat(63)}.com`],
    [`https://${'a.'.repeat(125)}com/`, `https://${'a.'.repeat(125)}com/`, `https://${'a.'.repeat(125)}com`],
    ['https://1_-a.example.com/', 'https://1_-a.example.com/', 'https://1_-a.example.com'],
    ['https://internal.example.com/', 'https://internal.example.com/', 'https://internal.example.com'],
  ])('normalises %s', (text, url, origin) => {
    expect(checkDestination(text, production)).toEqual({ ok: true, url, origin });
  });

  it.each([
    ['http://127.0.0.1:9000/hook', 'ok'],
    ['http://127.8.9.10:1/', 'ok'],
    ['http://localhost:9000/hook', 'ok'],
    ['https://localhost:9000/hook', 'ok'],
    ['http://example.com:8443/', 'ok'],
    ['http://example.com/', PORT],
    ['http://example.com:9000/', PORT],
    ['http://10.0.0.1:9000/', ADDRESS],
    ['http://[::1]:9000/', ADDRESS],
    ['http://[::ffff:127.0.0.1]:9000/', ADDRESS],
    ['http://foo.localhost:9000/', LOCAL],
    ['http://receiver:9000/', 'The host name must be fully qualified, such as hooks.example.com.'],
  ])('answers %s in development by: %s', (url, expected) => {
    expect(detail(url, development)).toBe(expected);
  });

  it('accepts its own normalised form unchanged', () => {
    // Of parts rather than `fc.webUrl`, which takes a second to set up.
    const part = (characters: string, most: number) =>
      fc.string({ unit: fc.constantFrom(...Array.from(characters)), minLength: 1, maxLength: most });
    const label = part('abzABZ019-ü東', 12);
    const anyUrl = fc.tuple(
      fc.constantFrom('https://', 'HTTPS:\\\\', 'https:'),
      fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => `${labels.join('.')}.example`),
      fc.constantFrom('', ':443', ':8443', ':'),
      fc.option(
        part('abZ09-._~!$&()*+,;=:@%/\\?# "<>{}ü', 40).map((rest) => `/${rest}`),
        { nil: '' },
      ),
    );
    let good = 0;
    fc.assert(
      fc.property(anyUrl, (parts) => {
        const first = checkDestination(parts.join(''), production);
        if (!first.ok) return;
        good += 1;
        expect(checkDestination(first.url, production)).toEqual(first);
      }),
    );
    expect(good).toBeGreaterThan(20);
  });
});
