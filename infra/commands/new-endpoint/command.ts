import { defineCommand, WrongArguments } from '../define-command.ts';

/** `npm run new-endpoint`: writes the files of a new endpoint. */
export const command = defineCommand({
  usage: "npm run new-endpoint -- 'METHOD /path'",
  help: `Writes the contract and the rule, the handler, the row in routes.ts and the example of a
new endpoint, for example 'GET /api/zone'. METHOD is GET, POST, PUT or DELETE; {name} in the path is
a parameter. Changes nothing else, and no endpoint that exists.`,
  options: {},
  positionals: ['METHOD /path'],
  statuses: { written: [0, 'the files are written'], failed: [1, 'they could not be written'] },
  seeAlso: 'docs/adding-an-endpoint.md shows what is left to do.',
  async run({ positionals: [route = ''] }) {
    const { routes } = await import('../../../routes.ts');
    const { scaffold } = await import('./scaffold.ts');
    const files = scaffold(route, routes);
    if (!files) throw new WrongArguments(`${route} is not a method and a path.`);
    if (routes.some((row) => row.route === route))
      throw new WrongArguments(`${route} exists already.`);
    const { writeEndpoint } = await import('./write-endpoint.ts');
    writeEndpoint(files);
    return 'written';
  },
});
