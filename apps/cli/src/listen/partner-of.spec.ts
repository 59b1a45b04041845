import type { ClientRecord } from '@relay/identity';
import { partnerOf } from './partner-of.js';

const aClient = (clientId: string, name: string, facts: Partial<ClientRecord> = {}): ClientRecord => ({
  clientId,
  kind: 'partner',
  name,
  scopes: [],
  secretHashes: [],
  generation: 0,
  audience: [],
  disabled: false,
  createdAt: 0,
  ...facts,
});
const [acme, beta, gone] = [aClient('p1', 'acme'), aClient('p2', 'beta'), aClient('p3', 'acme', { disabled: true })];
const source = aClient('s1', 'acme', { kind: 'source' });

describe('partnerOf', () => {
  it.each([
    ['the only partner', [acme, gone, source], undefined, acme],
    ['a name', [acme, beta, gone, source], 'acme', acme],
    ['an id', [acme, beta], 'p2', beta],
  ])('finds %s', (_name, clients, named, partner) => {
    expect(partnerOf(clients, named)).toBe(partner);
  });

  it.each([
    ['none at all', [gone, source], undefined, 'There is no partner: `relay partners create NAME`'],
    ['several', [acme, beta], undefined, 'There are several partners: name one by --partner and its id, of acme (p1)'],
    ['a name of two', [acme, aClient('p4', 'acme')], 'acme', '2 partners are called acme: name one'],
    ['a name of none', [acme], 'other', '0 partners are called other: name one by --partner and its id, of acme (p1)'],
  ])('refuses %s, saying which there are', (_name, clients, named, message) => {
    expect(() => partnerOf(clients, named)).toThrow(message);
  });
});
