import 'reflect-metadata';
import { RELAY_VERSION } from '@relay/config';
import { Documents } from '../../apps/ingress/src/documents/documents.js';
import { DOCUMENT_CONTROLLERS } from '../../apps/ingress/src/documents/documents.module.js';
import { documentOf } from '../../apps/operations/src/controllers.js';
import { controllersOf, FEATURES } from '../../apps/ingress/src/ingress.module.js';
import { jsonText } from './json-text.js';

/** The texts of the documents in docs: as a relay with default settings serves them. */
export function publishedDocuments(): Readonly<Record<string, string>> {
  const facts = { publicUrl: 'https://relay.example', version: RELAY_VERSION, topicPrefix: '', partitions: 6 };
  const { openApi, asyncApi } = new Documents([...controllersOf(FEATURES), ...DOCUMENT_CONTROLLERS], facts).now;
  const text = (bytes: Buffer): string => jsonText(JSON.parse(bytes.toString()));
  return {
    'openapi.json': text(openApi),
    'asyncapi.json': text(asyncApi),
    'operations.openapi.json': text(documentOf(facts)()),
  };
}
