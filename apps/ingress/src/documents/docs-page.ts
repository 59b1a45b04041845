import type { Schema } from '@relay/openapi';

type Part = Readonly<Record<string, unknown>>;

/** Returns the OpenAPI document as one page of HTML, without scripts or external resources. */
export function docsPage(document: Schema): string {
  const { title, version, description } = part(document['info']);
  const operations = [...operationsIn(document['paths']), ...operationsIn(document['webhooks'])];
  const contents = operations.map(({ id, label }) => `<li><a href="#${escape(id)}">${escape(label)}</a></li>`).join('');
  const schemas = Object.entries(part(part(document['components'])['schemas']));
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title>
<style>${STYLE}</style></head>
<body>
<header><h1>${escape(title)} <small>${escape(version)}</small></h1>
${prose(description)}
<p>For machines: <a href="openapi.json">openapi.json</a>, <a href="asyncapi.json">asyncapi.json</a>. <a href="docs/errors">What each error means</a>.</p></header>
<nav aria-label="Operations"><ul>${contents}</ul></nav>
<main>${operations.map(section).join('\n')}
<h2>Schemas</h2>${schemas.map(([name, schema]) => `<section id="${escape(name)}"><h3>${escape(name)}</h3>${json(schema)}</section>`).join('\n')}
</main>
</body>
</html>
`;
}

interface PageOperation {
  readonly id: string;
  readonly label: string;
  readonly operation: Part;
}

const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete']);

const operationsIn = (paths: unknown): PageOperation[] =>
  Object.entries(part(paths)).flatMap(([path, methods]) =>
    Object.entries(part(methods))
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({
        id: text(part(operation)['operationId']),
        label: `${method.toUpperCase()} ${path}`,
        operation: part(operation),
      })),
  );

function section({ id, label, operation }: PageOperation): string {
  const parameters = list(operation['parameters']).map(
    ({ name, in: place, required, description, schema }) =>
      `<tr><td><code>${escape(name)}</code></td><td>${escape(place)}${required === true ? ', required' : ''}</td><td>${prose(description)}${json(schema)}</td></tr>`,
  );
  const body = part(operation['requestBody']);
  const answers = Object.entries(part(operation['responses'])).map(
    ([status, answer]) => `<tr><td>${escape(status)}</td><td>${answerOf(part(answer))}</td></tr>`,
  );
  return `<section id="${escape(id)}"><h2>${escape(label)}</h2>
<p><strong>${escape(operation['summary'])}.</strong></p>${prose(operation['description'])}
<p>Needs: ${needs(operation['security'])}</p>
${parameters.length === 0 ? '' : `<h3>Parameters</h3><table>${parameters.join('')}</table>`}
${body['content'] === undefined ? '' : `<h3>Body${body['required'] === true ? '' : ' (may be absent)'}</h3>${contents(body['content'])}`}
<h3>Answers</h3><table>${answers.join('')}</table></section>`;
}

function answerOf(answer: Part): string {
  const shared = answer['$ref'];
  if (typeof shared === 'string')
    return shared.includes('OAuth') ? 'An error of RFC 6749.' : '<a href="docs/errors">A problem</a>.';
  return `${prose(answer['description'])}${contents(answer['content'])}`;
}

const contents = (byType: unknown): string =>
  Object.entries(part(byType))
    .map(([type, content]) => {
      const { schema, example } = part(content);
      return `<p><code>${escape(type)}</code></p>${json(schema)}${example === undefined ? '' : `<p>For example:</p>${json(example)}`}`;
    })
    .join('');

function needs(security: unknown): string {
  const ways = list(security).map(
    (way) =>
      Object.entries(way)
        .map(([name, scopes]) => `${name}${Array.isArray(scopes) && scopes.length > 0 ? ` (${scopes.join(' ')})` : ''}`)
        .join(' and ') || 'nothing',
  );
  return ways.length === 0 ? 'nothing' : escape(ways.join(', or '));
}

/** Returns a value as JSON in which every reference to a schema is a link. */
const json = (value: unknown): string =>
  value === undefined
    ? ''
    : `<pre>${escape(JSON.stringify(value, null, 2)).replaceAll(/&quot;#\/components\/schemas\/(\w+)&quot;/g, '<a href="#$1">$1</a>')}</pre>`;

/** Returns the paragraphs of a text as HTML, with `code` marked up. The descriptions use no other Markdown. */
const prose = (markdown: unknown): string =>
  text(markdown) === ''
    ? ''
    : text(markdown)
        .split('\n\n')
        .map((paragraph) => `<p>${escape(paragraph).replaceAll(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
        .join('');

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const part = (value: unknown): Part => (value ?? {}) as Part;
const list = (value: unknown): readonly Part[] => (Array.isArray(value) ? (value as Part[]) : []);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (value: unknown): string => text(value).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** The style of the page. It is sent unchanged, so that the content security policy can contain its hash. */
export const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:auto;padding:1rem}pre{overflow:auto;padding:.5rem;background:#8881;font-size:.85rem}table{width:100%;border-collapse:collapse}td{border-top:1px solid #8884;padding:.25rem .5rem;vertical-align:top}section{border-top:2px solid #8886;margin-top:2rem}nav ul{columns:2;font-family:monospace}`;
