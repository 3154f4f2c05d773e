/** Programs print the same whoever runs the tests: in UTF-8, without colours that the environment asks for. */
for (const name of ['LC_ALL', 'LC_CTYPE', 'NO_COLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE'])
  Reflect.deleteProperty(process.env, name);
process.env.LANG = 'C.UTF-8';
