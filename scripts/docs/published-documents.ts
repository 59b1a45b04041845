import 'reflect-metadata';
import { RELAY_VERSION } from '@relay/config';
import { DocumentsController } from '../../apps/ingress/src/documents/documents.controller.js';
import { documentsOf } from '../../apps/ingress/src/documents/documents.js';
import { controllersOf, FEATURES } from '../../apps/ingress/src/features.js';
import { jsonText } from './json-text.js';

/** The texts of docs/openapi.json and docs/asyncapi.json: as a relay with default settings serves them. */
export function publishedDocuments(): Readonly<Record<string, string>> {
  const facts = { publicUrl: 'https://relay.example', version: RELAY_VERSION, topicPrefix: '', partitions: 6 };
  const { openApi, asyncApi } = documentsOf([...controllersOf(FEATURES), DocumentsController], facts);
  const text = (bytes: Buffer): string => jsonText(JSON.parse(bytes.toString()));
  return { 'openapi.json': text(openApi), 'asyncapi.json': text(asyncApi) };
}
