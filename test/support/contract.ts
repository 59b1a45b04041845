import { z } from 'zod';
import type { Answer } from './client.js';
import { validatorOf } from './json-schema.js';

interface Described {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}
interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Described>> }>>>
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, Described>>;
  };
}

const documents = new Map<string, Promise<Contract>>();

/** The contract is read again at the next use: the event types have changed. */
export const forgetContract = (url: string): boolean => documents.delete(url);

/** The contract that the relay at this address publishes, read once. @param headers as the operations app wants them */
export function contractOf(url: string, headers: Record<string, string> = {}): Promise<Contract> {
  const known = documents.get(url) ?? Contract.read(url, headers);
  documents.set(url, known);
  // A relay that was away when asked is asked again.
  known.catch(() => documents.delete(url));
  return known;
}

/** Compares answers with /openapi.json: status, content type and body must match the operation. */
export class Contract {
  readonly #validators = new Map<object, z.ZodType>();

  private constructor(private readonly document: OpenApi) {}

  static async read(url: string, headers: Record<string, string>): Promise<Contract> {
    const response = await fetch(`${url}/openapi.json`, { headers });
    if (!response.ok) throw new Error(`/openapi.json: ${response.status}`);
    return new Contract((await response.json()) as OpenApi);
  }

  /** The difference between an answer and the document; undefined without one. */
  fault(method: string, path: string, answer: Answer): string | undefined {
    const described = this.#describedFor(method, path, answer.status);
    const what = `${method} ${path} ${answer.status}`;
    if (described === undefined) return `${what} is not in /openapi.json`;
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
    if (described.content === undefined) return answer.text === '' ? undefined : `${what} has a body`;
    const content = described.content[type];
    if (content === undefined) return `${what} comes as ${type}, which is not in /openapi.json`;
    if (!type.includes('json') || content.schema === undefined) return undefined;
    const result = this.#validator(content.schema).safeParse(answer.json);
    return result.success
      ? undefined
      : `${what} is not as /openapi.json says: ${z.prettifyError(result.error)}\n${answer.text}`;
  }

  #describedFor(method: string, path: string, status: number): Described | undefined {
    const operation = this.#operation(method, path);
    // What is not routed is the same for every path.
    const given =
      operation === undefined ? this.document.components.responses[`Problem${status}`] : operation.responses[status];
    const name = given?.$ref?.split('/').at(-1);
    return name === undefined ? given : this.document.components.responses[name];
  }

  #operation(method: string, path: string): OpenApi['paths'][string][string] | undefined {
    const asked = (path.split('?', 1)[0] ?? '').split('/');
    const fits = (template: string): boolean => {
      const parts = template.split('/');
      return (
        parts.length === asked.length && parts.every((part, index) => part.startsWith('{') || part === asked[index])
      );
    };
    const found = Object.entries(this.document.paths)
      .filter(([template, methods]) => fits(template) && method.toLowerCase() in methods)
      // A path that is named whole counts before one with parameters.
      .toSorted(([a], [b]) => a.split('{').length - b.split('{').length);
    return found[0]?.[1][method.toLowerCase()];
  }

  #validator(schema: object): z.ZodType {
    const known = this.#validators.get(schema);
    if (known !== undefined) return known;
    const made = validatorOf(schema, this.document.components.schemas);
    this.#validators.set(schema, made);
    return made;
  }
}
