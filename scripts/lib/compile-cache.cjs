'use strict';
// Jest compiles and loads each module once for each spec file. Required before jest, this compiles a module once for each
// process, and loads the packages of `SHARED` once, because they keep no state. Objects that zod makes have the prototypes of
// the process, so `isDeepStrictEqual` and `toStrictEqual` do not take them for equal to objects that a spec makes.
const vm = require('node:vm');

const { compileFunction, Script, SourceTextModule } = vm;
const scripts = new Map();
const modules = new Map();
const SHARED = /\/node_modules\/(?:@opentelemetry\/api|iterare|picomatch|rxjs|typescript|zod)\//;

vm.compileFunction = (code, params, options) => {
  if (SHARED.test(options.filename)) {
    return (module) => {
      module.exports = require(options.filename);
    };
  }
  let kept = scripts.get(options.filename);
  if (kept?.code !== code) {
    // A script keeps the answer to `import()` of its first spec file, so what imports later is compiled each time.
    const importsLater = /\bimport\s*\(/.test(code);
    const { filename } = options;
    const script = importsLater ? undefined : new Script(`(function (${params.join(', ')}) {${code}\n})`, { filename });
    kept = { code, script };
    scripts.set(filename, kept);
  }
  return kept.script?.runInContext(options.parsingContext) ?? compileFunction(code, params, options);
};

vm.SourceTextModule = class extends SourceTextModule {
  constructor(code, options) {
    const kept = modules.get(options.identifier);
    if (kept?.code === code) {
      super(code, { ...options, cachedData: kept.data });
    } else {
      super(code, options);
      modules.set(options.identifier, { code, data: this.createCachedData() });
    }
  }
};
