// The prerequisites of every installation: a namespace of the restricted profile, its keys, and the private authority.
import { newKeys, restrictedNamespace, secretOf } from './manifests.mjs';

/** @param more further members of the Secret with the keys, such as passwords of stores */
export async function newNamespace({ cluster, authority }, name, { more, objects = [] } = {}) {
  const keys = newKeys();
  await cluster.apply(name, [
    restrictedNamespace(name),
    secretOf(name, 'relay-keys', keys, more),
    { ...named('ConfigMap', name, 'authority'), data: { 'ca.crt': authority.ca } },
    ...objects,
  ]);
  return { keys };
}

export const named = (kind, namespace, name) => ({ apiVersion: 'v1', kind, metadata: { name, namespace } });

/** The image that was built, and less CPU: of two cores there must be room for the stores, and for pods that replace others. */
export const imageValues = (images) => ({
  image: { repository: images['partner-relay'].reference.split(':')[0], tag: images['partner-relay'].tag },
  ingressApp: { resources: { requests: { cpu: '150m' } } },
  worker: { resources: { requests: { cpu: '150m' } } },
});
