import { Keyring } from '@relay/keyring';
import * as fc from 'fast-check';
import { seal, sealCredential } from './webhook-changes.js';
import type { StoredWebhook } from './stored-webhooks.adapter.js';
import { openedOf, webhookOf, WebhookView, type Webhook } from './redis-webhook-view.adapter.js';

const keyring = Keyring.parse(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
const iv = (): Buffer => Buffer.alloc(12, 7);

const aStored = (changes: Partial<StoredWebhook> = {}): StoredWebhook => {
  const place = { id: changes.id ?? 'w1', partnerId: changes.partnerId ?? 'p1' };
  return {
    ...place,
    eventType: 'task.created',
    endPointUrl: 'https://e.example/a',
    url: 'https://e.example/a',
    origin: 'https://e.example',
    credential: sealCredential({ kind: 'jwt', jwt: 'j' }, place, keyring, iv),
    credentialHash: 'h',
    secrets: [seal('whsec_new', 'secret', place, keyring, iv), seal('whsec_old', 'secret', place, keyring, iv)],
    status: 'active',
    createdAt: 1,
    updatedAt: 1,
    sequence: 1,
    version: 1,
    ...changes,
  };
};

const unopened = (): Promise<never> => Promise.reject(new Error('not to be opened'));

describe('openedOf', () => {
  it('opens credential and secrets at once, and has the optional attributes', () => {
    const webhook = openedOf(aStored({ endPointName: 'n' }), keyring, 0);
    expect(webhook).toMatchObject({ endPointName: 'n' });
    expect(webhook.credential()).toEqual({ kind: 'jwt', jwt: 'j' });
    expect(webhook.secrets(0)).toEqual(['whsec_new', 'whsec_old']);
  });

  it('throws when no key opens it', () => {
    const other = Keyring.parse(`k2:${Buffer.alloc(32, 2).toString('base64')}`);
    expect(() => openedOf(aStored(), other, 0)).toThrow('k1');
  });

  it('never opens a secret that signs no more: its key may be lost', () => {
    const lost = Keyring.parse(`k0:${Buffer.alloc(32, 9).toString('base64')}`);
    const place = { id: 'w1', partnerId: 'p1' };
    const secrets = [seal('whsec_new', 'secret', place, keyring, iv), seal('whsec_old', 'secret', place, lost, iv)];
    const stored = aStored({ secrets, oldSecretUntil: 5 });
    expect(openedOf(stored, keyring, 5).secrets(5)).toEqual(['whsec_new']);
    expect(() => openedOf(stored, keyring, 4)).toThrow('k0');
  });
});

describe('WebhookView', () => {
  it('answers like a list that is searched, whatever was put and removed', () => {
    const type = fc.constantFrom('task.created' as const, 'plan.created' as const);
    const partnerId = fc.constantFrom<string>('p1', 'p2', 'p3');
    const change = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', 'e'), type, partnerId, removes: fc.boolean() });
    const audience = fc.array(partnerId, { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(fc.tuple(change, type, audience), { maxLength: 40 }), (steps) => {
        const view = new WebhookView();
        const model = new Map<string, Webhook>();
        for (const [{ id, removes, ...members }, eventType, partners] of steps) {
          const webhook = webhookOf(aStored({ id, partnerId: members.partnerId, eventType: members.type }), unopened);
          if (removes) view.remove(id);
          else view.put(webhook);
          if (removes) model.delete(id);
          else model.set(id, webhook);
          const expected = [...model.values()].filter(
            (one) => one.eventType === eventType && (partners.length === 0 || partners.includes(one.partnerId)),
          );
          const found = view.matching(eventType, partners);
          expect(found).toHaveLength(expected.length);
          expect(new Set(found)).toEqual(new Set(expected));
          expect(view.find(id)).toBe(model.get(id));
        }
      }),
    );
  });

  it('never changes a list it handed out', () => {
    const view = new WebhookView();
    view.put(webhookOf(aStored({ id: 'a' }), unopened));
    const before = view.matching('task.created', []);
    view.put(webhookOf(aStored({ id: 'b' }), unopened));
    view.remove('a');
    expect(before.map(({ id }) => id)).toEqual(['a']);
    expect(view.matching('task.created', []).map(({ id }) => id)).toEqual(['b']);
  });
});
