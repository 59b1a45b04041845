import type { ClientRecord } from '@relay/identity';
import { useFinding, usesOf } from './store-checks.adapter.js';

const aClient = (clientId: string, facts: Partial<ClientRecord>): ClientRecord => ({
  clientId,
  kind: 'partner',
  name: clientId,
  scopes: [],
  secretHashes: [],
  generation: 0,
  audience: [],
  disabled: false,
  createdAt: 0,
  ...facts,
});
const clients = [
  aClient('new', { secretHashes: ['k2.x'] }),
  aClient('both', { secretHashes: ['k2.x', 'k1.x'] }),
  aClient('fixed', { credential: { type: 'apiKey', hash: 'k1.x' } }),
  aClient('gone', { secretHashes: ['k1.x'], disabled: true }),
];

describe('the use of older keys', () => {
  it('names what needs each, but for clients that are disabled', () => {
    const webhooks = new Map([
      ['k1', new Set(['w'])],
      ['k2', new Set(['w', 'v'])],
    ]);
    expect(usesOf(['k1', 'k0'], webhooks, clients)).toEqual([
      { key: 'k1', webhooks: ['w'], clients: ['both', 'fixed'] },
      { key: 'k0', webhooks: [], clients: [] },
    ]);
  });

  it.each([
    [[], [], 'ok', 'k1 is no longer needed: remove it from ENCRYPTION_KEYS', undefined],
    [['w', 'v'], [], 'warning', 'k1 is still needed for 2 webhooks, such as w', 'run `relay keys rotate`'],
    [[], ['c'], 'warning', 'k1 is still needed for secrets of 1 client, such as c', expect.stringContaining('used')],
    [
      ['w'],
      ['c'],
      'warning',
      'k1 is still needed for 1 webhook, such as w; and for secrets of 1 client, such as c',
      'run `relay keys rotate`',
    ],
  ])('by webhooks %j and clients %j is told as %s', (webhooks, needing, state, text, fix) => {
    const finding = useFinding({ key: 'k1', webhooks, clients: needing });
    expect([finding.state, finding.text, finding.fix]).toEqual([state, text, fix]);
  });
});
