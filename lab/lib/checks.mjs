// Checks one after another: a line as each ends, and all of them as a table, which the documents quote.

/**
 * @param checks by what they check; each resolves to its figure, in words, or throws what is wrong
 * @param isEnough asked after a fault: whether the rest is left out, because it fails as well
 * @returns the exit code
 */
export async function checked(checks, isEnough = async () => false) {
  const rows = [];
  for (const [what, check] of Object.entries(checks)) {
    const since = Date.now();
    const answer = await check().catch((error) => error);
    const isFault = answer instanceof Error;
    const said = isFault ? answer.message : String(answer);
    rows.push({ what, isFault, said, seconds: Math.round((Date.now() - since) / 1000) });
    console.log(`${isFault ? 'FAILED' : 'ok    '}  ${what}: ${said}`);
    if (isFault && (await isEnough())) break;
  }
  const failed = rows.filter(({ isFault }) => isFault).length;
  const cells = ({ what, isFault, said, seconds }) => [
    what,
    isFault ? `FAILED: ${said.split('\n', 1)[0]}` : said,
    `${seconds} s`,
  ];
  const table = [['what', 'figure', 'took'], ['---', '---', '---'], ...rows.map(cells)];
  console.log(`\n${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`);
  const total = Object.keys(checks).length;
  console.log(failed > 0 ? `${failed} of ${total} checks failed` : `all ${total} checks passed`);
  return failed > 0 ? 1 : 0;
}
