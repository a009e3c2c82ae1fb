"""The words around an answer, in the languages of real outputs: links, negations, hedges, alternatives.

Data only. `claims` uses them to decide whether a sentence asserts a phrase.
"""

from __future__ import annotations

import re


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


COPULAS = split_words(
    "is are was were be been being isn's it's that's he's she's they're there's who's what's 's "
    "'re "
    "remains remained remain becomes became means equals es fue fueron será est sont était fut "
    "c'est "
    "ist sind waren wird é foi são è sono fu это является являются был была было هي هو كانت كان "
    "oli là है हैं था थी"
)
"""Verbs of identity: the words after one of them say what the subject is."""

DETERMINERS = split_words(
    "the a an this that its his her their our my el la los las un una le les l' der die das den "
    "dem ein eine "
    "o os as um uma il lo gli i uno the"
)

BEFORE_ANSWER = (
    COPULAS
    | DETERMINERS
    | split_words(
        # prepositions and participles that introduce what a question asks for
        "in on at by during called named termed known titled entitled say says choose "
        "chose pick "
        "picked select answer answered labeled labelled classify namely i.e. ie simply just "
        "clearly actually "
        "indeed definitely probably likely therefore thus hence so yes with think believe guess "
        "said now "
        "still today currently again also to about into off out up through via using be "
        "president king queen emperor "
        "saint dr mr mrs ms "
        "sir lake mount river planet element city country state province novel author poet "
        "composer "
        "en por desde como llamado llamada llama por dans par à au aux appelé appelée nommé in im "
        "am bei von "
        "durch heißt heisst genannt em no na pelo pela por chamado chamada da di nel nella dal "
        "chiamato "
        "в во на от под называется это — – - في من إلى على تسمى يسمى son war era on ella él il "
        "elle er sie "
        "he she it they we i you who people "
        # verbs that take what a question asks for as their object
        "speak speaks use uses used eat eats make makes made produce produces produced collect "
        "collects release "
        "releases contain contains wrote write writes won win wins visit visited meet met play "
        "plays played like likes "
        "prefer prefers need needs want wants want bought buy buys sold sell sells see saw found "
        "find finds gave give "
        "gives got get gets took take takes saw reach reached choose support supports study "
        "studied studies teach "
        "taught learn learned drink drinks wear wears wore drive drives drove ride rides own owns "
        "owned enjoy enjoys "
        "love loves loved hate hates discover discovered invented discovered founded painted "
        "created directed composed "
        "absorb absorbs emit emits give form forms formed include includes denotes denote "
        "represents represent "
        "symbolizes spells indicates face faces"
    )
)
"""Words that may come directly before an answer without becoming part of it."""

AFTER_ANSWER = COPULAS | split_words(
    "has have had does did do will would can could which who whose whom that where when because "
    "since as for "
    "in on at by from with to of during until after before while although though if so then but "
    "not rather "
    "instead i wrote won became made discovered invented founded painted created directed composed "
    "played sang "
    "served ran led began took beat defeated scored holds held lies sits stands hosts hosted "
    "according too also "
    "per via based due here there today now around circa between through under over along among "
    "across within "
    "following ago itself himself herself first again alone "
    "que porque por en de con según y es pues donde car parce dans qui en par selon puisque et "
    "weil denn in im am laut und da der die das welche porque pois em segundo perché in secondo "
    "потому так в на по согласно — – - في لأن وفقا حسب مع "
    "çünkü dir dır koska"
)
"""Words that may directly follow an answer without becoming part of it."""

NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|no\s+longer|none|cannot|nobody|nothing|hardly|rather\s+than"
    r"|instead\s+of|unlike"
    r"|other\s+than|(?:anything|all|everything|everyone|any)\s+but|far\s+from|except(?:\s+for)?|excluding|without|contrary\s+to|opposed\s+to|wrongly"
    r"|mistaken(?:ly)?"
    r"|incorrect(?:ly)?|wrong|false(?:ly)?|myth|misconception|confus\w+|doubt|den(?:y|ies|ied)"
    r"|rul(?:e|es|ed|ing)\s+out"
    r"|eliminat\w+|exclud\w+|reject\w*|discard\w*|than|near|next\s+to|beside|adjacent|versus|vs"
    r"|no|tampoco|nunca|ni|en\s+lugar\s+de|en\s+vez\s+de|antes\s+que|pas|ne|n['’](?=\w)|non|jamais"
    r"|plutôt\s+que"
    r"|au\s+lieu\s+de|nicht|kein\w*|nie|statt|anstatt|não|nunca|nem|em\s+vez\s+de|mai|invece\s+di"
    r"|anziché"
    r"|не|нет|ни|вместо|ليس(?:ت)?|لا|لم|غير|ولا|ei|eivät|không|chứ)\b|नहीं"
    r"|n['’]t\b|不(?:是|属|屬|在|叫|会|會|能|应|應|为|為|对|對|可能)|并非|並非|而非|没有|沒有|除了",
    re.IGNORECASE,
)
"""Before a phrase in the same clause: the clause denies it."""

DENIED_AFTER = re.compile(
    r"[\s\"'”’»」』)]*(?:"
    r"(?:is|was|are|were|would\s+be|seems|looks)\s+(?:\w+ly\s+|also\s+)?(?:not\b|wrong\b"
    r"|incorrect\b|false\b|out\b|the\s+wrong"
    r"|my\s+(?:first|initial)|a\s+(?:common|popular|distractor|frequent)|what\s+(?:many|most"
    r"|people))"
    r"|(?:(?:can|could|may|must|should)\s+(?:\w+ly\s+|therefore\s+)?be|(?:is|was|are|were))\s+(?:\w+ly\s+)?"
    r"(?:ruled|eliminated|excluded|rejected|discarded|dismissed)"
    r"|(?:isn|wasn|aren|weren|doesn|didn)['’]t\b|(?:does|did|has|had|can|could)\s+not\b|cannot\b"
    r"|(?:no|n['’])\s*(?:es|est|é|è)\b|ist\s+(?:nicht|falsch)\b|не\b"
    r"|(?:이|가|은|는)?\s*(?:아니|아닙|아닌|아냐|틀렸|틀린)|では(?:ない|なく|ありません)|じゃ(?:ない|なく|ありません)|でない|でなく"
    r"|不是|不对|不正确|是错|是錯|değil|नहीं|ei\b)",
    re.IGNORECASE,
)
"""Directly after a phrase: it is denied."""

HEDGE = re.compile(
    r"\b(?:could|might|(?-i:may)|maybe|perhaps|possibl[ey]|possibilit\w+|candidates?|either"
    r"|depend(?:s|ing)|debate\w*"
    r"|disput\w+|disagree\w*|some\s+(?:say|would|people|historians|sources|scholars|claim|argue"
    r"|think)"
    r"|(?:many|most)\s+(?:people\s+|would\s+|readers\s+|students\s+)*(?:say|think|guess|believe"
    r"|assume|expect|answer)"
    r"|(?:often|commonly|sometimes|usually|mistakenly)\s+(?:attributed|said|thought|believed"
    r"|assumed|confused)"
    r"|popular(?:ly)?\s+belie\w+|suggested|you\s+(?:might|may|would)\s+(?:think|expect|say|guess)"
    r"|first\s+(?:thought|guess|instinct|impression|answer)|initial(?:ly)?|at\s+first"
    r"|question\s+(?:asks|is)"
    r"|asked\s+(?:whether|if|about)|whether|if|suppose|supposing|assum(?:e|ing)|unless|imagine"
    r"|were\s+it"
    r"|hard\s+to\s+say|not\s+sure|unsure|unclear|previously|formerly|until|till|hasta|jusqu['’]|bis\s+\d|used\s+to|originally|in\s+the\s+past|once\s+thought"
    r"|quizá|quizás|tal\s+vez|puede|podría|depende|si|peut-être|pourrait|soit|dépend|vielleicht"
    r"|möglicherweise"
    r"|könnte|entweder|ob|talvez|pode|poderia|forse|potrebbe|può|возможно|может|либо|если"
    r"|ربما|قد|يمكن"
    r"|إما|belki|olabilir|ehkä|voi\s+olla|có\s+thể|शायद)\b"
    r"|可能|有人|据说|據說|algunos|certains|manche|некоторые|という説|也许|也許|或许|如果|是否|题目|題目|问的是|以为|以為|猜|아마|수도\s*있|일\s*수|만약|인지|라는\s*말|かもしれ|もし|おそらく",
    re.IGNORECASE,
)
"""In a clause: what it names is only assumed, reported or one of several."""

CONCESSION = re.compile(
    r"\s*(?:although|though|even\s+though|while|whereas|despite|in\s+spite\s+of|unlike"
    r"|compared\s+(?:to|with)"
    r"|contrary\s+to|apart\s+from|besides|aside\s+from|having|being|who|whom|whose|which|where|when"
    r"|as\s+opposed"
    r"|not|rather|instead\s+of|near|close\s+to|aunque|mientras|a\s+pesar|bien\s+que|quoique"
    r"|alors\s+que|malgré"
    r"|obwohl|während|trotz|embora|enquanto|apesar|sebbene|mentre|хотя|в\s+то\s+время|а\s+не|رغم"
    r"|بينما"
    r"|虽然|雖然|尽管|儘管|不是|并非)\b|\s*(?:虽然|雖然|尽管|儘管|不是|并非|不同于)",
    re.IGNORECASE,
)
"""At the beginning of a clause: it says something other than the answer."""

TURN = re.compile(
    r"(?:(?<!anything )(?<!all )(?<!everything )(?<!everyone )(?<!any )\bbut(?:\s+rather)?\b"
    r"|\bhowever\b|\binstead\b(?!\s+of)|\brather\b(?!\s+than)|\bsondern\b"
    r"|\bsino\b|\bmais\b"
    r"|\baber\b|\bpero\b|\bmas\b|\bbensì\b|\bvaan\b|\bно\b|,\s*а\b(?!\s+не\b)|\bبل\b|बल्कि|\bmà\b"
    r"|\bmà\s+là\b"
    r"|而是|但是|但|其实|아니라|아니고|아닌|ではなく|じゃなく|でなく|değil,)",
    re.IGNORECASE,
)
"""What follows contrasts with what comes before."""

CONCLUSION = re.compile(
    r"[\s*_#>\-•–—(]*(?:so\b|thus\b|therefore\b|hence\b|consequently\b|accordingly\b"
    r"|in\s+conclusion\b|to\s+conclude\b"
    r"|overall\b|ultimately\b|in\s+short\b|in\s+summary\b|to\s+sum(?:marize|\s+up)\b|finally\b"
    r"|on\s+reflection\b"
    r"|putting\b|combining\b|conclusion\b|altogether\b|which\s+means\b|that\s+means\b"
    r"|this\s+means\b"
    r"|por\s+(?:lo\s+)?tanto\b|así\s+que\b|en\s+conclusión\b|donc\b|ainsi\b|en\s+conclusion\b"
    r"|daher\b|somit\b"
    r"|folglich\b|portanto\b|logo\b|quindi\b|dunque\b|perciò\b|следовательно\b|поэтому\b|итак\b"
    r"|таким\s+образом\b"
    r"|لذلك|إذن|وبالتالي|因此|所以|综上|由此|总之|따라서|그러므로|그래서|결론|したがって|よって|つまり|以上より|dolayısıyla|siksi)",
    re.IGNORECASE,
)
"""Starts a concluding sentence."""

INNER_CONCLUSION = re.compile(
    r"[,;—–]\s*(?:and\s+)?(?:so|thus|therefore|hence)\b|，(?:因此|所以)|=>|⇒|→", re.IGNORECASE
)
"""Starts a concluding clause."""

RETRACTION = re.compile(
    r"[\s*_\-•–—(.…]*(?:wait|no\s*[,.—–]|actually|correction|scratch\s+that|hmm|sorry|on\s+second\s+thought"
    r"|let\s+me\s+(?:re|correct)\w*|not\s+quite|nein\s*[,.]|等等|不对|아니[,.]|いや)",
    re.IGNORECASE,
)
"""Starts a sentence that retracts the preceding one."""

OBJECTION = re.compile(
    r"[\s*_\-•–—(]*(?:but|however|yet|pero|mais|aber|mas|ma|но|但|하지만|しかし)\b", re.IGNORECASE
)
"""Starts a sentence that contradicts the preceding one."""

JOINS_NEXT = re.compile(
    r"[\s\"'”’»」』)]*(?:->|→|=>|⇒|"
    r"(?:,\s*)?(?:\bor\b|\band\b(?!\s+(?:it|he|she|they|this|that|is|was|has|not|the\s+answer)\b)|&"
    r"|/|\bou\b|\boder\b|\bund\b(?!\s+nicht\b)"
    r"|\bo\b|(?:\by\b|\be\b|\bet\b)(?!\s+(?:no|non|não|pas)\b)|\bили\b|\bи\b|أو|\bو(?=\s)|\bveya\b|\bya\s+da\b|\bve\b|\btai\b"
    r"|\bja\b|\bhoặc\b|या|और)"
    r"|或者|或|和|与|與|还是|還是|、|か(?!ら)(?=\S)|または|もしくは|と(?=\S)|또는|혹은|아니면|이나\s|나\s|와\s|과\s|랑\s"
    r"|及|跟)"
)
"""Directly after a phrase: another one is joined to it."""

JOINED = re.compile(
    r"(?:\b(?:or|and|nor|ou|oder|und|et|или|и|أو|veya|ve|tai|hoặc|या|और)\s+(?:the\s+|an?\s+"
    r"|perhaps\s+|maybe\s+|la\s+|el\s+)?"
    r"|[&/]\s*|或者|或|和|与|與|还是|還是|、|または|か、?|또는\s*|혹은\s*|아니면\s*|와\s+|과\s+)[\s\"'“‘«「『*]*$",
    re.IGNORECASE,
)
"""Directly before a phrase: it is joined to another one."""

REFUSAL = re.compile(
    r"\b(?:can\s?not|can['’]t|unable\s+to|not\s+able\s+to|do(?:es)?\s+not|do(?:es)?n['’]t|won['’]t"
    r"|would\s+not"
    r"|not\s+possible\s+to|impossible\s+to|hard\s+to)\s+"
    r"(?:\w+ly\s+)?(?:answer|determine|know|assist|help|provide|choose|decide|tell|say|specify"
    r"|mention|state|indicate"
    r"|have\s+(?:enough|sufficient|access)|give|comply|verify|identify|comment|contain)\b"
    r"|\b(?:refuse|decline)\s+to\b|\bas\s+an\s+AI\b|\bI['’]?\s*a?m\s+(?:sorry|afraid|not\s+sure|unsure)|\bnot\s+(?:enough"
    r"|sufficient)\s+(?:information|context)"
    r"|\binsufficient\s+(?:information|context)|\bno\s+idea\b|\b(?:isn['’]t|is\s+no)\s+(?:enough"
    r"|answer|information|mention)"
    r"|\bno\s+information\b|\b(?:could|can|would)\s+you\s+(?:please\s+)?(?:clarify|provide|share"
    r"|specify)"
    r"|\blo\s+siento\b|\bno\s+(?:puedo|sé|se\s+sabe)\b|\bdésolée?\b|\bje\s+ne\s+(?:peux|sais)\b"
    r"|\bleider\b|\bweiß\s+(?:ich\s+)?nicht\b"
    r"|\bnão\s+(?:sei|posso|consigo)\b|\bnon\s+(?:so|posso)\b|\bmi\s+dispiace\b|извините|не\s+могу"
    r"|не\s+знаю"
    r"|عذر[اً]+|آسف|لا\s+(?:أستطيع|أعرف|يمكنني)|üzgünüm|yanıtlayamam|bilmiyorum|en\s+tiedä"
    r"|xin\s+lỗi"
    r"|无法(?:确定|判断|回答|得知|提供)|無法|不知道|不确定|不確定|抱歉|对不起|알\s*수\s*없|모르겠|죄송|확인할\s*수\s*없|어렵습니다"
    r"|申し訳|わかりません|分かりません|お答えできません|नहीं\s+(?:जानता|पता)|क्षमा",
    re.IGNORECASE,
)
"""Declines to answer."""

CIVILITY = re.compile(
    r"[\s*_#>]*(?:(?:sure(?:\s+thing)?|certainly|of\s+course|absolutely|happy\s+to\s+help|thanks|当然"
    r"|好的|물론(?:입니다|이죠)?"
    r"|もちろん(?:です)?|claro|bien\s+sûr|natürlich|конечно)[\s!.,，。:]*"
    r"|(?:(?:what\s+a\s+)?(?:great|good|interesting)\s+question|i\s+hope\s+this|hope\s+(?:this"
    r"|that)|let\s+me\s+know|feel\s+free"
    r"|if\s+you(?:'d|\s+(?:have|would|want|need))|would\s+you\s+like|do\s+you\s+want|thank\s+you"
    r"|you're\s+welcome"
    r"|is\s+there\s+anything|希望|如果您|도움이|还有)(?!\w)[^\n]*)",
    re.IGNORECASE,
)
"""A sentence that greets, offers help or says goodbye."""
