import type { Delivery, Language } from './request.ts';
import { code, indented, literal, withTime } from './text.ts';

/** Code for a signed POST request, as a provider sends it. */
export const deliver: Record<Language, (delivery: Delivery) => string> = {
  curl,
  javascript,
  python,
  go,
  php,
};

function curl({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  return code(
    `BODY=${withTime(body, literal.shell, '$(date +%s)000', '')}`,
    'SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d " " -f 1)',
    '',
    [
      `curl ${literal.shell(url)}`,
      ...headers.map(([name, value]) => `-H ${literal.shell(`${name}: ${value}`)}`),
      `-H "${signatureHeader}: ${signaturePrefix}$SIGNATURE"`,
      '--data-binary "$BODY"',
    ].join(' \\\n  '),
  );
}

function javascript({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  return code(
    "import { createHmac } from 'node:crypto';",
    '',
    `const body = ${withTime(body, literal.single, 'Date.now()', ' + ')};`,
    "const signature = createHmac('sha256', process.env.WEBHOOK_SECRET).update(body).digest('hex');",
    '',
    `const response = await fetch(${literal.single(url)}, {`,
    "  method: 'POST',",
    '  headers: {',
    headers.map(([name, value]) => `    ${literal.single(name)}: ${literal.single(value)},`),
    `    ${literal.single(signatureHeader)}: \`${signaturePrefix}\${signature}\`,`,
    '  },',
    '  body,',
    '});',
    'console.log(response.status, await response.text());',
  );
}

function python({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  const now = 'str(int(time.time() * 1000))';
  const text = withTime(body, literal.python, now, ' + ');
  const hasTime = text.includes(now);
  return code(
    'import hashlib',
    'import hmac',
    'import os',
    hasTime ? 'import time' : null,
    'import urllib.error',
    'import urllib.request',
    '',
    `body = ${text}`,
    'secret = os.environ["WEBHOOK_SECRET"]',
    'signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()',
    '',
    'request = urllib.request.Request(',
    `    ${literal.python(url)},`,
    '    data=body.encode(),',
    '    headers={',
    headers.map(([name, value]) => `        ${literal.python(name)}: ${literal.python(value)},`),
    `        ${literal.python(signatureHeader)}: ${literal.python(signaturePrefix)} + signature,`.replace(
      '"" + ',
      '',
    ),
    '    },',
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    '        print(response.status, response.read().decode())',
    'except urllib.error.HTTPError as error:',
    '    print(error.code, error.read().decode())',
  );
}

function go({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  const now = 'strconv.FormatInt(time.Now().UnixMilli(), 10)';
  const text = withTime(body, literal.go, now, ' + ');
  const packages = ['crypto/hmac', 'crypto/sha256', 'encoding/hex', 'fmt', 'io', 'log', 'net/http', 'os'];
  const more = text.includes(now) ? ['strconv', 'strings', 'time'] : ['strings'];
  const set = (name: string, value: string) => `request.Header.Set(${literal.go(name)}, ${value})`;
  return `package main

import (
${[...packages, ...more].map((name) => `\t"${name}"`).join('\n')}
)

func main() {
	body := ${text}
	mac := hmac.New(sha256.New, []byte(os.Getenv("WEBHOOK_SECRET")))
	mac.Write([]byte(body))
	signature := hex.EncodeToString(mac.Sum(nil))

	request, err := http.NewRequest("POST", ${literal.go(url)}, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
${indented(
  '\t',
  headers.map(([name, value]) => set(name, literal.go(value))),
).join('\n')}
	${set(signatureHeader, `${literal.go(signaturePrefix)}+signature`).replace('""+', '')}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()

	result, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(result))
}`;
}

function php({ url, headers, body, signatureHeader, signaturePrefix }: Delivery): string {
  return code(
    '<?php',
    `$body = ${withTime(body, literal.single, 'floor(microtime(true) * 1000)', ' . ')};`,
    "$signature = hash_hmac('sha256', $body, getenv('WEBHOOK_SECRET'));",
    '',
    "$context = stream_context_create(['http' => [",
    "    'method' => 'POST',",
    "    'header' => [",
    headers.map(([name, value]) => `        ${literal.single(`${name}: ${value}`)},`),
    `        ${literal.single(`${signatureHeader}: ${signaturePrefix}`)} . $signature,`,
    '    ],',
    "    'content' => $body,",
    "    'ignore_errors' => true,",
    ']]);',
    `$response = fopen(${literal.single(url)}, 'r', false, $context);`,
    'echo stream_get_meta_data($response)[\'wrapper_data\'][0], "\\n";',
    'echo stream_get_contents($response);',
  );
}
