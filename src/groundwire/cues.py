"""Words that tell what a prompt wants, alike in several languages.

The embedded encoder reads English. What a prompt asks for is said by few words in any language:
*who*, *wer*, *qui*, *誰* are one cue. What a head learns of a cue from English prompts so holds for
the others. English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and Japanese.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

#: A cue and its words, without accents and in lower case. ``word*`` stands for what begins so;
#: several words stand together as written; Chinese and Japanese are found anywhere.
CUES: dict[str, str] = {
    "who": "who, whom, whose, who's, wer, wen, wem, wessen, qui, quien, quienes, chi, quem, wie was, wie is, 谁, 誰, だれ",
    "when": "when, wann, seit wann, quand, cuando, quando, wanneer, what year, which year, welchem jahr, quelle annee, que ano, que anio, che anno, in che anno, welk jaar, 什么时候, 何时, 哪一年, 哪年, 几点, 何年, 何月, 何日, いつ, 何時",
    "where": "where, wo, woher, wohin, ou, donde, adonde, dove, onde, waar, 哪里, 在哪, 哪儿, どこ",
    "which": "which, welche*, quel, quels, quelle, quelles, cual, cuales, quale, quali, qual, quais, welk*, 哪个, 哪些, 哪种, 哪国, 哪一, どの, どれ, どちら",
    "what": "what, what's, whats, was, qu'est, que, quoi, que es, cosa, che cosa, cos'e, o que, o que e, wat, 什么, 何, なに, なん, って何, とは",
    "why": "why, warum, wieso, weshalb, pourquoi, por que, perche, porque, waarom, 为什么, 为何, なぜ, どうして",
    "how": "how, wie, comment, como, come, hoe, 怎么, 如何, 怎样, どう, どのように",
    "amount": "how many, how much, how long, how far, how old, how tall, how high, how big, how often, how fast, how deep, wie viel*, wieviel*, wie lange, wie weit, wie alt, wie hoch, wie gross, wie oft, wie schnell, wie tief, wie schwer, combien, quelle taille, quel age, cuanto*, cuanta*, quanto, quanta, quanti, quante, quantos, quantas, hoeveel, hoe lang, hoe oud, hoe hoog, hoe ver, hoe groot, 多少, 几个, 多长, 多大, 多高, 多远, 多久, 几月, 几天, 几次, 几岁, いくつ, いくら, 何人, 何個, 何メートル, 何キロ, 何歳, 何回, 何円, どれくらい, どのくらい",
    "is it": "is, are, does, do, did, was, were, has, have, can, ist, sind, hat, haben, gibt es, stimmt es, est-ce, est ce, y a-t-il, es, son, hay, esta, existe, e vero, c'e, ci sono, existem, tem, is het, zijn, heeft, 是不是, 是否, 吗, 有没有, ですか, ますか, でしょうか",
    "true": "is it true, true or false, fact, facts, factual, correct, accurate, really, actually, wahr, stimmt, tatsachlich, fakten, vrai, verite, exact*, faits, verdad, cierto, realmente, hechos, datos, vero, davvero, verdade, fatos, echt, waar is, feiten, 真的, 事实, 正确, 本当, 事実, 正しい",
    "explain": "explain*, describe, tell me about, what does, erklar*, beschreib*, erlauter*, expliqu*, decris, decrivez, explica*, explique*, describ*, spieg*, descriv*, descrev*, leg uit, uitleg*, beschrijf, 解释, 说明, 介绍, 讲讲, 描述, 説明, 教えて, 述べ, 解説",
    "list": "list, name, enumerate, nenne*, liste, aufzahl*, zahle, enumere, citez, nomme*, cite, lista, nombra*, enumera*, dime, elenca*, nomina*, liste, nomeie, noem, som op, 列出, 列举, 举出, 挙げて, リスト",
    "compare": "compare*, difference*, differ, versus, vs, better than, unterschied*, vergleich*, difference, compar*, diferenci*, differenz*, confront*, diferenca*, verschil*, vergelijk, 区别, 比较, 不同, 差异, 違い, 比較",
    "define": "meaning, mean, means, definition, define, stand for, stands for, bedeute*, bedeutung, definier*, signifie, veut dire, significa*, definicion, definizion*, definicao, betekent, betekenis, 意思, 含义, 定义, 意味, 定義",
    "summary": "summar*, tl;dr, tldr, key points, main points, zusammenfass*, fass*, kernpunkte, resume*, resumez, resum*, synthese, riassum*, riassunt*, sintesi, samenvat*, vat, 总结, 概括, 摘要, 要約, まとめ",
    "according": "according to, based on, from the text, in the text, in the document, the passage, the article, attached, gemass, laut, im text, dem text, selon, d'apres, le texte, segun, el texto, secondo, il testo, de acordo, segundo, o texto, volgens, de tekst, 根据, 文中, 依据, によると, によれば, 文章から, に基づ",
    "history": "history, origin*, invent*ed, founded, founder, born, died, discovered, capital, population, president, king, war, century, geschichte, geboren, gestorben, gegrundet, erfunden, hauptstadt, einwohner, krieg, jahrhundert, histoire, ne en, mort, fonde*, capitale, habitants, guerre, siecle, historia, nacio, murio, fundo, fundad*, capital, habitantes, guerra, siglo, storia, nato, morto, fondat*, abitanti, secolo, historia, nasceu, morreu, seculo, geschiedenis, hoofdstad, inwoners, oorlog, eeuw, 历史, 出生, 首都, 人口, 战争, 世纪, 发明, 建立, 歴史, 生まれ, 首都, 人口, 戦争, 世紀, 発明",
    "numbers": "price, cost*, rate, dose, dosage, speed, height, length, distance, deadline, temperature, preis, kostet, kosten, hohe, lange, entfernung, frist, dosis, prix, coute*, hauteur, longueur, distance, delai, precio, cuesta*, altura, longitud, distancia, plazo, prezzo, costa*, altezza, lunghezza, distanza, scadenza, preco, custa*, comprimento, prazo, prijs, kost, hoogte, lengte, afstand, 价格, 价钱, 多少钱, 高度, 长度, 距离, 温度, 値段, 料金, 高さ, 長さ, 距離, 温度, 期限",
    "now": "current*, latest, today, now, this year, recent*, yesterday, aktuell*, derzeit, heute, neueste*, gestern, actuel*, aujourd'hui, dernier*, recent*, actual*, hoy, ultim*, ayer, attual*, oggi, ieri, atual*, hoje, ontem, huidige, vandaag, laatste, 现在, 目前, 最新, 今天, 今年, 昨天, 現在, 最新, 今日, 今年, 昨日",
    "write": "write, draft, compose, schreib*, verfass*, entwirf, formulier*, ecris, ecrivez, redige*, compose*, escrib*, redact*, compon*, scriv*, scrivi, redig*, escrev*, schrijf, 写, 撰写, 起草, 書いて, 書き, 作って, 作成",
    "invent": "invent, make up, imagine, come up with, brainstorm*, think up, suggest, pitch, dream up, create, erfind*, stell dir, denk dir, ausdenk*, uberleg*, erfinde, invente, inventez, imagine*, propose*, inventa*, imagina*, sugier*, propon*, inventa, immagina*, suggeris*, crea, inventar, imagine, sugira, crie, invente, verzin, bedenk, stel je voor, 编, 想象, 虚构, 创作, 起个, 取个, 想一个, 想几个, 考えて, 想像, 創作, 架空",
    "poem": "poem*, haiku*, limerick*, rhyme*, rhyming, verse*, sonnet*, ode, lyrics, song, chorus, rap, gedicht*, reim*, lied, vers, poeme*, rime*, chanson, poesie, poema*, rima*, cancion*, soneto*, verso*, poesia*, filastrocc*, canzon*, cancao, quadrinha*, rijm*, liedje*, versje*, 诗, 歌词, 歌, 顺口溜, 対联, 对联, 詩, 俳句, 短歌, 川柳, 歌詞",
    "story": "story, stories, tale*, novel*, fable*, scene, dialogue, character, plot, fiction*, screenplay, monologue, diary, geschichte uber, geschichte von, kurzgeschichte*, marchen, erzahl*, roman, dialog, szene, figur, tagebuch, krimi, histoire d'un, conte*, recit, roman, scene, personnage, cuento*, relato*, novela*, escena, personaje*, fabula*, racconto*, racconta*, favola*, fiaba*, romanzo*, scena, conto, historinha, personagem, romance, verhaal*, sprookje*, roman, 故事, 小说, 童话, 剧本, 日记, 角色, 寓言, 物語, 小説, 童話, 脚本, 日記, おとぎ話, 登場人物",
    "joke": "joke*, pun*, funny, funniest, punchline, silly, witty, riddle*, witz*, lustig*, wortspiel*, ratsel, blague*, drole*, jeu de mots, devinette*, chiste*, gracios*, divertid*, broma*, adivinanz*, barzellett*, battut*, divertent*, scherz*, indovinell*, piada*, engracad*, trocadilho*, adivinha*, grap, grapje*, mop, grappig*, raadsel*, 笑话, 搞笑, 好笑, 谜语, 段子, 冗談, ジョーク, 面白い, ダジャレ, だじゃれ, なぞなぞ, 笑える",
    "name it": "slogan*, tagline*, names for, name for, title*, headline*, caption*, nickname*, motto*, logo*, mascot*, hashtag*, namen fur, name fur, titel, spitzname*, spruch, uberschrift, nom pour, noms pour, titre*, surnom*, legende, nombre para, nombres para, titulo*, apodo*, lema*, nome per, nomi per, titol*, soprannom*, nome para, nomes para, apelido*, naam voor, namen voor, bijnaam, 名字, 标题, 口号, 昵称, 广告语, 绰号, 名前, タイトル, あだ名, キャッチコピー, スローガン",
    "letter": "email, e-mail, letter, invitation, message, greeting*, card, toast, speech, note, cover letter, resignation, thank you, birthday, wedding, apology, brief, einladung*, nachricht, gluckwunsch*, karte, rede, kundigung*, entschuldigung, geburtstag*, hochzeit*, lettre*, invitation*, message*, carte, discours, anniversaire*, mariage, excuses, carta, correo, invitacion*, mensaje*, tarjeta*, discurso, cumple*, boda, disculpa*, lettera, invito, messaggio, biglietto, discorso, auguri, compleanno, matrimonio, scuse, convite, mensagem, cartao, aniversario, casamento, desculpa*, uitnodiging*, bericht, kaart, toespraak, verjaardag*, bruiloft, 邮件, 信, 邀请, 祝福, 贺卡, 短信, 演讲, 生日, 婚礼, 道歉, メール, 手紙, 招待, メッセージ, スピーチ, 誕生日, 結婚, お詫び, お礼",
    "rewrite": "rewrite, rephrase, reword, shorten, shorter, polish, paraphrase, edit, proofread, politer, more politely, tone, simplify, improve, umformulier*, formulier* um, kurz*, kurzer, hoflicher, verbesser*, reformul*, raccourci*, ameliore*, plus court, plus poli*, reescrib*, reformul*, acorta*, mejora*, mas corto, mas formal, riscriv*, riformul*, accorci*, miglior*, piu cortese, piu breve, reescrev*, encurt*, melhor*, mais curt*, mais educad*, herschrijf, verkort, korter, beleefder, verbeter, 改写, 润色, 缩短, 改成, 更礼貌, 精简, 修改, 書き直し, 言い換え, 短く, 丁寧に, 直して, 添削",
    "translate": "translate, translation, into english, into german, into french, into spanish, into italian, in english, ubersetz*, auf englisch, auf deutsch, ins englische, ins deutsche, tradui*, en anglais, en francais, traduc*, traduz*, al ingles, al espanol, in inglese, in italiano, tradur*, para ingles, em ingles, vertaal*, in het engels, 翻译, 译成, 翻成, 英语怎么说, 訳して, 翻訳, 英語に, 日本語に",
    "grammar": "grammar, spelling, typo*, correct this, punctuation, sentence, rechtschreib*, grammatik, korrigier*, orthographe, grammaire, corrige*, ortografia, gramatica, corrig*, corregg*, grammatica, spelling, spelfout*, 语法, 错别字, 病句, 文法, 誤字, 校正",
    "code": "code, function, script, python, javascript, java, sql, regex, bash, css, html, c++, rust, react, debug*, bug, error, compile*, exception, stack trace, segfault, snippet, algorithm, class, loop, array, query, unit test, programm, skript, funktion, fehlermeldung, fonction, programme, funcion, programa, codigo, funzione, programma, codice, funcao, functie, 代码, 函数, 脚本, 编程, 报错, 程序, 正则, コード, 関数, スクリプト, プログラム, エラー",
    "role": "you are, you're a, act as, pretend, play the, play a, roleplay, role-play, in the style of, as if you were, in the voice, du bist, spiel*, tu so, im stil, joue, jouez, tu es, vous etes, dans le style, fais semblant, eres, actua*, finge, haz de, en el estilo, al estilo, sei un, sei una, fai finta, interpreta*, nello stile, fingi, voce e, finja, aja como, no estilo, jij bent, je bent, doe alsof, speel, in de stijl, 你是, 扮演, 假装, 假设你, 风格, あなたは, のふり, 演じ, なりきって, 風に",
    "opinion": "opinion, do you think, your view, you prefer, favourite, favorite, should i, what would you, do you like, in your taste, your take, meinung, was haltst du, findest du, wurdest du, was denkst du, lieblings*, soll ich, magst du, ton avis, votre avis, penses-tu, pensez-vous, que penses, preferes, preferez, devrais-je, aimes-tu, opinas, opinion, crees que, piensas, prefieres, favorit*, deberia, te gusta, pensi, secondo te, preferisci, preferit*, dovrei, ti piace, tua opinione, o que voce acha, voce prefere, devo, voce gosta, jouw mening, wat vind je, vind je, denk je, lievelings*, zal ik, 你觉得, 你认为, 你喜欢, 看法, 意见, 我该, 应不应该, どう思, 意見, 好き, おすすめの名前, べきか",
    "feeling": "i feel, i'm sad, i'm so, i love, i miss, stressed, lonely, anxious, cheer me up, motivat*, comfort, encourage, traurig, einsam, gestresst, ich fuhle, trost*, aufmunter*, triste, stresse*, je me sens, console, encourage*, me siento, estresad*, anima*, consuel*, mi sento, stressat*, consola*, me sinto, estressad*, console, ik voel, verdrietig, gestrest, 难过, 压力, 伤心, 安慰, 鼓励, 心情, 好累, 疲れ, 悲しい, 寂しい, 励まし, 慰め, つらい",
    "greeting": "hello, hi, hey, thanks, thank you, good morning, good night, good evening, how are you, bye, see you, lol, haha, hallo, danke*, guten morgen, gute nacht, guten abend, wie geht, tschuss, salut, bonjour, bonsoir, merci, ca va, hola, gracias, buenos dias, buenas noches, que tal, adios, ciao, grazie, buongiorno, buonanotte, come stai, come va, ola, oi, obrigad*, bom dia, boa noite, tudo bem, hoi, dank*, bedankt, goedemorgen, 你好, 谢谢, 早上好, 晚安, 再见, こんにちは, ありがとう, おはよう, おやすみ, お疲れ, 元気",
    "advice": "how do i tell, how can i be, help me, advice, tips, how should i, wie sage ich, wie kann ich, hilf mir, rat, tipps, comment dire, comment puis-je, aide-moi, aidez-moi, conseil*, como le digo, como puedo, ayudame, consejo*, come dico, come posso, aiutami, consigli*, como digo, como posso, ajude, me ajuda, conselho*, dica*, hoe zeg ik, hoe kan ik, help me, advies, 怎么跟, 怎么办, 建议, 帮我, 助言, アドバイス, 手伝って, どうすれば",
    "fancy": "dragon*, robot*, wizard*, unicorn*, ghost*, alien*, pirate*, fairy, witch, penguin, talking, magic*, drache*, roboter, zauberer, einhorn, gespenst*, pirat*, hexe*, sprechende*, dragon, sorcier*, licorne*, fantome*, extraterrestre*, sorciere, mago, unicornio*, fantasma*, bruja, parlante, drago, unicorno, strega, folletto, dragao, feiticeir*, unicornio, bruxa, draak, tovenaar, eenhoorn, spook, heks, 龙, 机器人, 独角兽, 外星人, 海盗, 魔法, 会说话, 妖怪, 龍, ドラゴン, ロボット, 魔法, 幽霊, 宇宙人, 海賊, 妖精",
    "riddle": "solve, calculate, puzzle, sum of, equation, multiply, divided, percent of, prove, derivative, integral, lose, berechne*, lose, gleichung, rechne, beweise, calcule*, resous, equation, resuelve, ecuacion, calcula*, demuestra, risolvi, equazione, calcola*, dimostra, resolva, equacao, bereken, los op, 计算, 求解, 方程, 证明, 算一下, 計算, 解いて, 方程式, 証明",
    "if": "if i, if you, what if, suppose, would a, would you, wenn du, was ware, was wurde, angenommen, wurde ein, si tu, et si, dirait, ferait, si fueras, y si, diria, haria, que pasaria, se tu, e se, direbbe, farebbe, se voce, diria, faria, als je, wat als, zou een, zou je, 如果你, 假如, 要是, もし, だったら",
}  # fmt: skip

_MARKS = re.compile(r"[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:['’\-+][^\W_]+)*|[^\w\s]")
#: Characters of scripts that put no space between words.
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def plain(text: str) -> str:
    """Lower case, one form of each letter, no accents on Latin letters, no other apostrophe."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return _MARKS.sub("", unicodedata.normalize("NFD", folded))


def words(text: str) -> list[str]:
    """Words and marks of a plain text, in order."""
    return _WORD.findall(text)


#: Short words that tell the languages in Latin script apart.
_COMMON = {
    "en": "the a an of to is are was were in on and or for with my your i you it this that what "
    "how who when where why which do does did can could would should have has me we our be from "
    "at by as not if but about give write make tell please",
    "de": "der die das den dem des ein eine einen einem einer und oder ist sind war wie wer was "
    "wo warum wann welche welcher ich du mir mich dir sie er es nicht mit fur auf von zu zum zur "
    "im bei uber mein meine meinen meinem meiner bitte kann wurde schreib uns hat gibt dass",
    "fr": "le la les l un une des du de et ou est sont qui que quel quelle quels comment pourquoi "
    "quand je tu il elle nous vous me mon ma mes ton sur dans pour avec pas ce cette c d au aux en "
    "moi ecris qu merci bonjour bonne trois",
    "es": "el la los las un una unos de del y o es son que quien cual como por para con en mi tu "
    "su me te se al lo no si cuando donde hay esta este escribe dime hola cuantos muy tiene",
    "it": "il lo la i gli le un uno una di del della dei e o che chi come quando dove per con in "
    "mi ti si al alla mio mia non sono quanto quanti qual scrivi dimmi ciao nel nella sul cosa ha "
    "grazie tre",
    "pt": "o a os as um uma de do da dos das e ou que quem como quando onde por para com em no na "
    "meu minha me se ao nao qual quanto escreva eu voce isso este esta oi muito pela podem",
    "nl": "de het een en of is zijn was wie wat waar hoe wanneer ik je jij mij mijn van voor met "
    "op in niet dat dit deze er aan te bij kan schrijf heeft drie over vertel me",
}


def language(plain_words: list[str]) -> str:
    """The language that words are most likely of, as ISO 639-1 names it; in doubt English.

    >>> [language(words(plain(text))) for text in ("Who wrote it?", "Wer war das?", "谁写的?")]
    ['en', 'de', 'zh']
    """
    letters = [word for word in plain_words if word[0].isalpha()]
    if sum(not word.isascii() for word in letters) > 0.3 * len(letters):
        if any(_KANA.search(word) for word in letters):
            return "ja"
        return "zh" if any(WIDE.search(word) for word in letters) else "other"
    parts = [word.partition("'")[0] for word in letters]
    found = {name: sum(part in common for part in parts) for name, common in _common().items()}
    return max(found, key=lambda name: found[name])  # the first of the best, and that is English


def is_english(plain_words: list[str]) -> bool:
    """Whether words may be English."""
    return language(plain_words) == "en"


@cache
def _common() -> dict[str, frozenset[str]]:
    return {name: frozenset(listed.split()) for name, listed in _COMMON.items()}


@cache
def _table() -> tuple[dict[str, list[str]], dict[str, list[tuple[str, str]]], list[tuple[str, str]]]:
    """Cues by whole word, by the first letters of a word, and by words that stand together."""
    whole: dict[str, list[str]] = {}
    prefixes: dict[str, list[tuple[str, str]]] = {}
    together: list[tuple[str, str]] = []
    for cue, listed in CUES.items():
        for entry in dict.fromkeys(plain(part) for part in listed.split(",")):
            text = entry.strip()
            if WIDE.search(text):
                together.append((text, cue))
            elif text.endswith("*"):
                prefixes.setdefault(text[:2], []).append((text[:-1], cue))
            elif len(words(text)) > 1:
                together.append((f" {' '.join(words(text))} ", cue))
            else:
                whole.setdefault(text, []).append(cue)
    return whole, prefixes, together


def cues(plain_words: list[str]) -> Iterator[tuple[int, str]]:
    """Cues among the words of a plain text, each with the number of the word it begins at.

    >>> sorted(cues(words(plain("Wer malte das Bild?"))))
    [(0, 'who')]
    """
    whole, prefixes, together = _table()
    for place, word in enumerate(plain_words):
        for cue in whole.get(word, ()):
            yield place, cue
        for prefix, cue in prefixes.get(word[:2], ()):
            if word.startswith(prefix):
                yield place, cue
    line = f" {' '.join(plain_words)} "
    for text, cue in together:
        if (found := line.find(text)) >= 0:
            yield line.count(" ", 0, found + 1) - (text[0] != " "), cue
